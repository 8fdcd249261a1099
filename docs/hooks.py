"""Hooks of MkDocs: pages from stored results, documents from outside the site's folder, formulas as MathML, and fonts of Streamlit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import streamlit
from docsite import behaviour, costs, directions, encoders, explanations, findings, gallery, live, numbers, papers, words
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from sentviz.runs.registry import papers as registered

HERE = Path(__file__).parent
DOCUMENTS = sorted(HERE.glob("*.md"))  # shown as they stand, the last section of the navigation
MADE = {
    "adapter-costs": encoders.adapter_costs,
    "bases": encoders.stored_bases,
    "behaviour": behaviour.behaviour,
    "capabilities": behaviour.capabilities,
    "costs": costs.costs,
    "direction-claims": directions.direction_claims,
    "directions-board": directions.directions_board,
    "encoders": encoders.encoders,
    "explanation-claims": explanations.explanation_claims,
    "findings": findings.findings,
    "gallery": gallery.page,
    "glossary": words.words,
    "papers": papers.overview,
    "patching-agreement": explanations.patching_agreement,
    "published-explanations": explanations.published_explanations,
    "referee": explanations.referee,
    "referee-board": explanations.referee_board,
    "taught": encoders.taught,
}
FONTS = {"SourceSansVF-Upright": "sans", "SourceSansVF-Italic": "sans-italic", "SourceCodeVF-Upright": "mono"}  # fonts of Streamlit


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the documents to the navigation, after the site's own pages."""
    titles = {path: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in DOCUMENTS}
    config.nav = [*(config.nav or []), {"Project": [{titles[path]: _page(path)} for path in DOCUMENTS]}]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the documents, notebooks and fonts from other folders."""
    contents = {f"papers/{name}.md": papers.paper_page(name) for name in registered()}
    contents |= {_page(path): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    contents |= {f"assets/{name}": text for name, text in live.live()}
    for name, text in contents.items():
        files.append(File.generated(config, name, content=text))
    for notebook in (HERE / "notebooks").glob("*.ipynb"):
        files.append(File.generated(config, f"notebooks/{notebook.name}", abs_src_path=str(notebook)))
    fonts = Path(streamlit.__file__).parent / "static" / "static" / "media"
    for stem, name in FONTS.items():
        (font,) = fonts.glob(f"{stem}.*.woff2")
        files.append(File.generated(config, f"assets/{name}.woff2", abs_src_path=str(font)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the comments and the names in braces that stand for stored results with the results."""
    if (place := "<!-- typed -->") in markdown:
        markdown = markdown.replace(place, live.typed("../" * page.file.url.count("/") + "assets"))
    for name, make in MADE.items():
        if (place := f"<!-- {name} -->") in markdown:
            markdown = markdown.replace(place, make())
    return numbers.filled(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Convert formulas to MathML, which browsers draw without a script."""
    return re.sub(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', _formula, html, flags=re.DOTALL)


def _page(document: Path) -> str:
    return f"project/{document.stem.lower()}.md"


def _formula(match: re.Match[str]) -> str:
    display = "inline" if match[2] == "(" else "block"
    latex = match[3].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return f'<{match[1]} class="formula">{convert(latex, display=display)}</{match[1]}>'
