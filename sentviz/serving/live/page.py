"""Write a run as one HTML page that computes in the browser.

The page holds the ONNX graph with maps, the tokenizer, onnxruntime-web and the linked picture. Its policy forbids all requests. The large
parts come last, so that a file that was cut off still shows its stored sentence and says what is missing.
"""

from __future__ import annotations

import gzip
import html
import json
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentviz.analysis.explain import SCORES, ends, explained
from sentviz.browser import canvas, page
from sentviz.browser.canvas import canvas_data, is_quick, scene_of
from sentviz.browser.kit import KIT, bundle
from sentviz.errors import RunError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.maps import component_name
from sentviz.io.files import replacing
from sentviz.models.loading import load
from sentviz.runs import store
from sentviz.runs.store import Run
from sentviz.serving.live.packages import RUNTIME, TOKENIZERS, as_script, files
from sentviz.serving.onnx import export
from sentviz.serving.onnx.session import SMALL, WHOLE

if TYPE_CHECKING:
    from sentviz.data.fetch.download import Progress
    from sentviz.models.model import Model
    from sentviz.runs.trace import Trace

HERE = Path(page.__file__).parent / "live"
ROWS = 500  # rows of the test split on which the graph in 8 bits is compared
WORDS = r"\w+|[^\w\s]"  # pattern of the tokenizers of words
WORDS_OF_BYTES = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # what byte-level tokenizers split first


def live_page(
    run: str | Path | Run, out: str | Path, *, text: str = "", int8: bool = False, theme: Theme = "light", progress: Progress | None = None
) -> dict[str, Any]:
    """Write a page on which the model of a run answers whatever is typed.

    Args:
        out: the file, with the ending .html.
        text: sentence that is shown first; "" = the run's example.
        int8: compute with a graph in 8 bits, which is a quarter as large.
        progress: called with the bytes of the packages that are fetched once.
    Returns:
        bytes (of the page), run, int8, and of the export: compared, and int8's cost if the data set is installed.
    Raises:
        RunError: the run cannot be written: it has no weights or maps, or reads what a page cannot give it.
        DataMissingError: the packages are not in the cache, and the npm registry cannot be reached.
    """
    run = run if isinstance(run, Run) else store.find(run)
    model = load(run)
    _check(run)
    with tempfile.TemporaryDirectory() as folder:
        model.tokenizer.save(Path(folder) / "tokenizer.json")
        words, left = for_browsers(run, (Path(folder) / "tokenizer.json").read_text(encoding="utf-8"))
        runtime, tokenizers = files(RUNTIME, progress), files(TOKENIZERS, progress)
        exported = export(run, Path(folder) / "model", maps=True, int8=int8, rows=ROWS, model=model)
        graph = (Path(folder) / "model" / (SMALL if int8 else WHOLE)).read_bytes()
    parts = {"graph": graph, "words": words, "wasm": runtime[RUNTIME.binary]}
    trace = explained(model, model.trace(text or run.example().text), ["removal"])
    scene = scene_of(trace, run.capabilities)
    card = _card(run, model, trace, exported) | left | {"sizes": {name: len(part) for name, part in parts.items()}}
    colours = palette(theme)
    document = page.page(
        f"{run.name}, live",
        _body(run, int8=int8),
        colours=colours,
        style=f":root {{ --accent: {colours.accent}; color-scheme: {theme}; }}\n{_style()}",
        scripts=(
            as_script(tokenizers[TOKENIZERS.script].decode(), "tokenizers"),
            as_script(runtime[RUNTIME.script].decode(), "ort"),
            f'{bundle(KIT / "host.js", HERE / "live.js")}inPage(mountLive, "scene")\n',
        ),
        data={"scene": {"first": canvas_data(scene), "card": card, "text": trace.text}},
        computes=True,
    )
    big = "".join(f'<script type="text/plain" id="{name}">{_packed(part)}</script>\n' for name, part in parts.items())
    document = document.replace("</body>\n</html>\n", f"{big}</body>\n</html>\n")
    with replacing(Path(out)) as fresh:
        fresh.write_text(document, encoding="utf-8")
    return {"bytes": len(document), "run": run.name, "int8": int8, "compared": exported["compared"], "cost": exported.get("int8", {})}


def _check(run: Run) -> None:
    """Raise RunError if a page cannot prepare the inputs of a run, or has nothing to draw."""
    has = run.capabilities
    reads = {"parts of speech": has.tags, "pairs of texts": has.pairs, "padding": has.padded}
    if unknown := [name for name, is_read in reads.items() if is_read]:
        raise RunError(f"{run.name} reads {unknown[0]}, which a live page cannot prepare.")
    if not has.maps:
        raise RunError(f"{run.name} has no attention maps, so there is no picture for a live page.")


def for_browsers(run: Run, tokenizer: str) -> tuple[bytes, dict[str, Any]]:
    """Return a tokenizer whose patterns mean the same in JavaScript (letters and spaces of all languages), and what `readText` does itself:
    the id of unknown tokens, whether it writes small letters, and the kind of tokens.

    Raises:
        RunError: the tokenizer is of another kind than words, WordPiece and byte pairs, or splits by an unknown pattern.
    """
    content = json.loads(tokenizer)
    kind, before = content["model"]["type"], content["pre_tokenizer"] or {}
    pattern, splits = before.get("pattern", {}).get("Regex", ""), before.get("type")
    read = {"WordLevel": splits == "Split" and pattern == WORDS, "WordPiece": splits == "BertPreTokenizer", "BPE": splits == "ByteLevel"}
    if not read.get(kind):
        raise RunError(f"A live page reads words, WordPiece and byte pairs; {run.name} has a tokenizer of another kind ({kind}).")
    normalizer, vocabulary = json.dumps(content["normalizer"]), content["model"]["vocab"]
    if kind == "BPE":  # In JavaScript, white space is another set of characters for "strip" and for the split of byte-level tokenizers.
        outer = {"type": "Replace", "pattern": {"Regex": r"\A\s+|\s+\z"}, "content": ""}
        steps = [outer if step["type"] == "Strip" else step for step in content["normalizer"]["normalizers"]]
        content["normalizer"] = {"type": "Sequence", "normalizers": [*steps, {"type": "Prepend", "prepend": " "}]}
        split = {"type": "Split", "pattern": {"Regex": WORDS_OF_BYTES}, "behavior": "Isolated", "invert": False}
        letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, letters]}
    left = {
        "unknown": vocabulary.get(content["model"]["unk_token"], 0),
        "lowers": '"Lowercase"' in normalizer or '"lowercase": true' in normalizer,
        "kind": kind,
    }
    return json.dumps(content | {"post_processor": None}, ensure_ascii=False, separators=(",", ":")).encode(), left


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
        "removes": is_quick(run),
    }


def _body(run: Run, *, int8: bool) -> str:
    about = (
        f"Run {run.name}, digest {run.digest}, computed in this browser{' in 8 bits' if int8 else ''} with {RUNTIME.name} {RUNTIME.version}"
        f" ({RUNTIME.licence}) and {TOKENIZERS.name} {TOKENIZERS.version} ({TOKENIZERS.licence}). Nothing is sent anywhere."
        " Attention shows where a model looks, not why it decides."
    )
    markup = (HERE / "live.html").read_text(encoding="utf-8") + (canvas.HERE / "canvas.html").read_text(encoding="utf-8")
    return f'<main>\n<h1>{html.escape(run.name)}</h1>\n{markup}<p class="about">{html.escape(about)}</p>\n</main>'


def _style() -> str:
    sheets = [KIT / "kit.css", canvas.HERE / "canvas.css", HERE / "live.css"]
    around = "body { margin: 0; padding: 16px; } main { max-width: 1100px; margin: 0 auto; } h1 { margin: 0 0 10px; font-size: 19px; }"
    return "\n".join([*(path.read_text(encoding="utf-8") for path in sheets), around])


def _packed(part: bytes) -> str:
    return b64encode(gzip.compress(part, 9, mtime=0)).decode()
