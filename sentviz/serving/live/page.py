"""Write runs as one HTML page that computes in the browser.

The page holds the ONNX graphs with maps, the tokenizers, onnxruntime-web and the linked picture. Its policy forbids all requests. The large
parts come last, so that a file that was cut off still shows its stored sentence and says what is missing.

The JavaScript packages, onnxruntime-web and Hugging Face's tokenizers, are in the wheel or are fetched once.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.analysis.explain import SCORES, ends, explained
from sentviz.browser import canvas, page
from sentviz.browser.canvas import canvas_data, scene_of
from sentviz.browser.kit import KIT, bundle
from sentviz.charts.colours import Theme
from sentviz.charts.maps import component_name
from sentviz.data.fetch.download import Progress, RemoteFile, fetch
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.io.files import CARRIED, home, replacing
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs import store
from sentviz.runs.bases import find_base
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from sentviz.serving.live import check
from sentviz.serving.live.pinned import RUNTIME, TOKENIZERS, Package
from sentviz.serving.onnx import export
from sentviz.serving.onnx.session import SMALL, WHOLE

_EXPORTS = re.compile(r"export\s*\{([^}]*)\}\s*;?\s*$")
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
HERE = Path(page.__file__).parent / "live"
LICENCES = Path(__file__).parent
MOST = 4  # largest number of models of a page
ROWS = 500  # rows of the test split on which the graph in 8 bits is compared
WORDS = r"\w+|[^\w\s]"  # pattern of the tokenizers of words
WORDS_OF_BYTES = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # pattern of byte-level tokenizers


def files(package: Package, progress: Progress | None = None) -> Mapping[str, bytes]:
    """Return the files of a package by their name in the archive: those of the wheel, or of the archive in the cache, fetched once.

    Raises:
        DataMissingError: the registry cannot be reached, or sends another archive. SentvizError: the disk cannot be written.
    """
    carried = {name: CARRIED / path for name, path in package.files.items()}
    if all(path.is_file() for path in carried.values()):
        return {name: path.read_bytes() for name, path in carried.items()}
    archive = package.archive(home())
    remote = RemoteFile(package.url, package.size, package.sha256, token=False)
    if not (archive.is_file() and remote.same(archive)):
        try:
            fetch(remote, archive, progress=progress)
        except DataMissingError as error:
            raise DataMissingError(f"A live page needs {package.name} {package.version} from {package.url}: {error}") from error
    with tarfile.open(archive) as opened:
        members = {name: opened.extractfile(name) for name in package.files}
        return {name: member.read() for name, member in members.items() if member is not None}


def as_script(module: str, name: str) -> str:
    """Return a module as a script that gives its exports to the page under a name.

    Raises:
        ValueError: the module does not end with a list of its exports.
    """
    code = _SOURCE_MAP.sub("", module).rstrip()
    exports = _EXPORTS.search(code)
    if exports is None:
        raise ValueError(f"The module of {name} does not end with its exports.")
    pairs = (part.split(" as ") for part in exports[1].split(",") if part.strip())
    exported = ", ".join(f"{pair[-1].strip()}: {pair[0].strip()}" for pair in pairs)
    body = code[: exports.start()].replace("import.meta.url", "document.baseURI")
    return f"globalThis.{name} = (() => {{\n{body}\nreturn {{ {exported} }}\n}})()"


def live_page(
    runs: str | Path | Run | Sequence[str | Path | Run],
    out: str | Path,
    *,
    text: str = "",
    int8: bool = False,
    theme: Theme | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a page on which the models of runs answer whatever is typed, side by side.

    Args:
        runs: one run or several; at most `MOST`.
        out: the file, with the ending .html.
        text: sentence that is shown first; "" = the first run's example.
        int8: compute with graphs in 8 bits, which are a quarter as large.
        theme: colours of the page; None = those that the reader's system prefers.
        progress: called with the bytes of the packages that are fetched once.
    Returns:
        bytes (of the page), int8, and of each of the `models`: run, compared, and the cost of 8 bits if its data set is installed.
    Raises:
        RunError: a run cannot be written: it has no weights or maps, or reads what a page cannot give it.
        DataMissingError: the packages are not in the cache, and the npm registry cannot be reached.
    """
    named = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    opened_runs = [run if isinstance(run, Run) else store.find(run) for run in named]
    if not 0 < len(opened_runs) <= MOST:
        raise InputError(f"A live page has one to {MOST} runs, not {len(opened_runs)}.")
    for run in opened_runs:
        check(run)
    first = text or opened_runs[0].example().text
    models = [content(run, first, int8=int8) for run in opened_runs]
    written = document(models, first, files(RUNTIME, progress), files(TOKENIZERS, progress), int8=int8, theme=theme)
    with replacing(Path(out)) as fresh:
        fresh.write_text(written, encoding="utf-8")
    of_models = [
        {"run": model.run.name, "compared": model.exported["compared"], "cost": model.exported.get("int8", {})} for model in models
    ]
    return {"bytes": len(written), "int8": int8, "models": of_models}


@dataclass(frozen=True, eq=False)
class Held:
    """A run as a page holds it."""

    run: Run
    data: dict[str, Any]  # first: the picture of the stored sentence; card: what the scripts need of the model
    parts: dict[str, bytes]  # graph and words
    exported: dict[str, Any]


def content(run: Run, text: str, *, int8: bool) -> Held:
    """Return a run as a page holds it, with the picture of a text.

    Raises:
        RunError: the run cannot be written, or the extra `onnx` is not installed.
    """
    model = load(run)
    with tempfile.TemporaryDirectory() as folder:
        model.tokenizer.save(Path(folder) / "tokenizer.json")
        stored, splits = (Path(folder) / "tokenizer.json").read_text(encoding="utf-8"), model.tokenizer.split_special_tokens
        words, left = for_browsers(run, stored, split_special_tokens=splits)
        exported = export(run, Path(folder) / "model", maps=True, int8=int8, rows=ROWS, model=model)
        graph = (Path(folder) / "model" / (SMALL if int8 else WHOLE)).read_bytes()
    parts = {"graph": graph, "words": words}
    trace = explained(model, model.trace(text), ["removal"])
    card = _card(run, model, trace, exported) | left | {"sizes": {name: len(part) for name, part in parts.items()}}
    return Held(run, {"first": canvas_data(scene_of(trace, run.capabilities)), "card": card}, parts, exported)


def document(
    models: Sequence[Held], text: str, runtime: Mapping[str, bytes], tokenizers: Mapping[str, bytes], *, int8: bool, theme: Theme | None
) -> str:
    """Return the page of models with the files of the two packages."""
    wasm = runtime[RUNTIME.binary]
    small = page.page(
        f"{', '.join(model.run.name for model in models)}, live",
        _body(models, tokenizers[TOKENIZERS.terms].decode(), int8=int8),
        theme=theme,
        style=_style(wide=len(models) > 1),
        scripts=(
            as_script(tokenizers[TOKENIZERS.script].decode(), "tokenizers"),
            as_script(runtime[RUNTIME.script].decode(), "ort"),
            f'{bundle(KIT / "host.js", HERE / "live.js")}inPage(mountLive, "live")\n',
        ),
        data={"live": {"models": [model.data for model in models], "text": text, "wasm": len(wasm)}},
        computes=True,
    )
    parts = {"wasm": wasm} | {f"{name}-{k}": part for k, model in enumerate(models) for name, part in model.parts.items()}
    big = "".join(f'<script type="text/plain" id="{name}">{_packed(part)}</script>\n' for name, part in parts.items())
    return small.replace("</body>\n</html>\n", f"{big}</body>\n</html>\n")


def for_browsers(run: Run, tokenizer: str, *, split_special_tokens: bool) -> tuple[bytes, dict[str, Any]]:
    """Return a tokenizer whose patterns mean the same in JavaScript (letters and spaces of all languages), and what `readText` does itself:
    the added tokens that a text may spell, the id of unknown tokens, whether it writes small letters, and the kind of tokens.

    Raises:
        RunError: the tokenizer is of another kind than words, WordPiece, byte pairs and Unigram, or splits by an unknown pattern.
    """
    content = json.loads(tokenizer)
    kind, before = content["model"]["type"], content["pre_tokenizer"] or {}
    pattern, splits = before.get("pattern", {}).get("Regex", ""), before.get("type")
    metaspace = splits == "Metaspace" and before["prepend_scheme"] == "always" and before["split"]
    read = {
        "WordLevel": splits == "Split" and pattern == WORDS,
        "WordPiece": splits == "BertPreTokenizer",
        "BPE": splits == "ByteLevel",
        "Unigram": metaspace and not content["model"].get("byte_fallback"),
    }
    if not read.get(kind):
        raise RunError(f"A live page reads words, WordPiece, byte pairs and Unigram; {run.name} has a tokenizer of another kind ({kind}).")
    normalizer, words = json.dumps(content["normalizer"]), content["model"]
    if kind in ("BPE", "Unigram"):  # In JavaScript, white space is another set of characters for "strip" and for the split of byte pairs.
        outer = {"type": "Replace", "pattern": {"Regex": r"\A\s+|\s+\z"}, "content": ""}
        steps = [outer if step["type"] == "Strip" else step for step in content["normalizer"]["normalizers"]]
        steps += [{"type": "Prepend", "prepend": " "}] if kind == "BPE" else []
        split = {"type": "Split", "pattern": {"Regex": WORDS_OF_BYTES}, "behavior": "Isolated", "invert": False}
        letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        if kind == "Unigram":  # In JavaScript, "Metaspace" does not split.
            split, letters = before, split | {"pattern": {"Regex": f"{before['replacement']}[^{before['replacement']}]*"}}
        content |= {
            "normalizer": {"type": "Sequence", "normalizers": steps},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, letters]},
        }
    left = {
        "spelled": [entry["content"] for entry in content["added_tokens"] if not (entry["special"] and split_special_tokens)],
        "unknown": words["unk_id"] if kind == "Unigram" else words["vocab"].get(words["unk_token"], 0),
        "lowers": '"Lowercase"' in normalizer or '"lowercase": true' in normalizer,
        "kind": kind,
    }
    plain: dict[str, Any] = {"post_processor": None, "added_tokens": []}  # A text that spells a special token is only text.
    return json.dumps(content | plain, ensure_ascii=False, separators=(",", ":")).encode(), left


def _card(run: Run, model: Model, trace: Trace, exported: dict[str, Any]) -> dict[str, Any]:
    """Return what the page's scripts need of the model."""
    has, removal = run.capabilities, SCORES["removal"]
    low, high = ends(trace, "removal")
    components: list[int | str] = ["effective", *(range(has.components) if has.components > 1 else ())]
    return {
        **{name: exported[name] for name in ("labels", "calibration", "max_length", "cls", "tokens", "inputs")},
        "names": [trace.tokens[0], trace.tokens[-1]] if model.cls else [],
        "layers": list(range(1, has.layers + 1)),
        "heads": list(range(1, has.heads + 1)),
        "parts": [component_name(part) for part in components],
        "lambdas": trace.lambdas.tolist(),
        "title": removal.title,
        "low": low,
        "high": high,
        "full": removal.full,
        "knee": removal.knee,
        "unit": removal.unit,
    }


def _body(models: Sequence[Held], terms: str, *, int8: bool) -> str:
    runs = "; ".join(f"run {model.run.name}, digest {model.run.digest}" for model in models)
    bases = {base["name"]: find_base(base["name"]).card for model in models if (base := model.run.config.get("base"))}
    about = (
        f"Computed in this browser{' in 8 bits' if int8 else ''} by {runs}. Nothing is sent anywhere."
        " Attention shows where a model looks, not why it decides."
    )
    licences = [f"{part.name} {part.version}: {part.licence}" for part in (RUNTIME, TOKENIZERS)]
    licences += [f"Pretrained encoder {name} ({card['source']}): {card['license']}" for name, card in bases.items()]
    texts = "\n\n".join(["sentviz, " + "; ".join(licences), (LICENCES / "mit.txt").read_text(encoding="utf-8"), terms])
    picture, several = (canvas.HERE / "canvas.html").read_text(encoding="utf-8"), len(models) > 1
    markup = "".join(
        f'<section class="model">{f"<p class=run>{html.escape(model.run.name)}</p>" if several else ""}'
        f'<h2 class="verdict" role="status"></h2><p class="note-of-model" role="status"></p>{unique(picture, k)}</section>'
        for k, model in enumerate(models)
    )
    field = (HERE / "live.html").read_text(encoding="utf-8")
    title = "The same sentence, read by each model" if several else models[0].run.name
    return (
        f'<main>\n<h1>{html.escape(title)}</h1>\n{field}<div class="models">{markup}</div>\n'
        f'<p class="about">{html.escape(about)}</p>\n'
        f'<details class="licences about"><summary>Licences of what this file holds</summary>'
        f"<pre>{html.escape(texts)}</pre></details>\n</main>"
    )


def unique(markup: str, k: int) -> str:
    """Return markup whose ids no other copy on the page has."""
    return re.sub(r'((?:id|aria-labelledby)="[^"]+)', rf"\1-{k}", markup)


def _style(*, wide: bool) -> str:
    sheets = [KIT / "kit.css", canvas.HERE / "canvas.css", HERE / "live.css"]
    around = "body { margin: 0; padding: 16px; } main { max-width: WIDTHpx; margin: 0 auto; } h1 { margin: 0 0 10px; font-size: 19px; }"
    return "\n".join([*(path.read_text(encoding="utf-8") for path in sheets), around.replace("WIDTH", "1600" if wide else "1100")])


def _packed(part: bytes) -> str:
    return b64encode(gzip.compress(part, 9, mtime=0)).decode()
