"""What MkDocs asks of us: pages made from stored results, documents that stand beside the site, formulas, and fonts from this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import streamlit
from docsite import costs, gallery, live, papers, words
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from sentviz.runs.registry import papers as registered

HERE = Path(__file__).parent
DOCUMENTS = sorted(HERE.glob("*.md"))  # shown as they stand, the last section of the navigation
MADE = {"costs": costs.costs, "gallery": gallery.page, "glossary": words.words, "papers": papers.overview}
FONTS = {"SourceSansVF-Upright": "sans", "SourceSansVF-Italic": "sans-italic", "SourceCodeVF-Upright": "mono"}  # of Streamlit, as the app's


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the documents beside the site behind its own pages."""
    titles = {path: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in DOCUMENTS}
    config.nav = [*(config.nav or []), {"Project": [{titles[path]: _page(path)} for path in DOCUMENTS]}]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is made or stands elsewhere."""
    made = {f"papers/{name}.md": papers.paper_page(name) for name in registered()}
    made |= {_page(path): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    made |= {f"assets/{name}": text for name, text in live.live()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for notebook in (HERE / "notebooks").glob("*.ipynb"):
        files.append(File.generated(config, f"notebooks/{notebook.name}", abs_src_path=str(notebook)))
    fonts = Path(streamlit.__file__).parent / "static" / "static" / "media"
    for stem, name in FONTS.items():
        (found,) = fonts.glob(f"{stem}.*.woff2")
        files.append(File.generated(config, f"assets/{name}.woff2", abs_src_path=str(found)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put what is made of stored results where a page asks for it."""
    for name, make in MADE.items():
        if (place := f"<!-- {name} -->") in markdown:
            markdown = markdown.replace(place, make())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw without a script."""
    return re.sub(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', _formula, html, flags=re.DOTALL)


def _page(document: Path) -> str:
    return f"project/{document.stem.lower()}.md"


def _formula(found: re.Match[str]) -> str:
    display = "inline" if found[2] == "(" else "block"
    latex = found[3].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return f'<{found[1]} class="formula">{convert(latex, display=display)}</{found[1]}>'
