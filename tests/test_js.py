"""The browser code: its own tests under node, the script that all of it becomes, and pages that compute beside the library."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.explain import explained
from sentviz.analysis.explain.leave_out import words
from sentviz.browser import film as through
from sentviz.browser import particles, points
from sentviz.browser.kit import bundle, front
from sentviz.data import demo
from sentviz.data.texts import is_blank
from sentviz.errors import DataMissingError, InputError, RunError
from sentviz.export.chromium import find_browser
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.store import Run, find
from sentviz.serving.live import page, pinned
from tests.browser.conftest import QUIET
from tests.conftest import ROOT
from tests.kit import refused

MAP, LIST = ROOT / "app/components/attention_map", ROOT / "app/components/claim_list"
OLDEST = 20


def node_path() -> str:
    """Return the installed node if it can run tests."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed: the browser code is tested without it only in a browser")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", version)[0]) < OLDEST:
        pytest.skip(f"node {version.strip()} is older than {OLDEST}")
    return path


@pytest.mark.exhaustive
def test_the_browser_code_passes_its_own_tests() -> None:
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/js").glob("*.test.js"))
    assert files
    ran = subprocess.run([node_path(), "--test", *files], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize(
    ("folder", "name", "page"),
    [
        (MAP, "map", None),
        (LIST, "list", None),
        (points.HERE, "points", "data"),
        (particles.HERE, "particles", "data"),
        (through.HERE, "through", None),
    ],
)
def test_every_view_is_one_script(folder: Path, name: str, page: str | None, tmp_path: Path) -> None:
    _, style, script = front(folder, name, page)
    assert not re.search(r"^\s*import\b|@import|url\(", script + style, re.MULTILINE)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|importScripts|https?://(?!www\.w3\.org/2000/svg)", script)
    assert re.findall(r"^export .*", script, re.MULTILINE) == ([] if page else ["export default inApp(mount)"])
    file = tmp_path / ("page.cjs" if page else "app.mjs")
    file.write_text(script, encoding="utf-8")
    ran = subprocess.run([node_path(), "--check", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def modules(folder: Path, **texts: str) -> Path:
    """Write JavaScript files into a folder; return the first one."""
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / f"{next(iter(texts))}.js"


def test_modules_keep_their_own_names(tmp_path: Path) -> None:
    entry = modules(
        tmp_path,
        top='import { left } from "./a.js"\nimport {\n  right,\n  twice,\n} from "./b.js"\nexport const all = [left, right(), twice(2)]\n',
        a='import { count } from "./shared.js"\nconst mine = "a"\nexport const left = mine + count()\n',
        b='import { count } from "./shared.js"\nconst mine = "b"\nexport function right() {\n  return mine + count()\n}\n'
        "export const twice = x => 2 * x\n",
        shared="let calls = 0\nexport const count = () => ++calls\n",
    )
    script = f"{bundle(entry)}console.log(JSON.stringify(all))\n"
    ran = subprocess.run([node_path(), "--input-type=module", "-"], input=script, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == '["a1","b2",4]'


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": 'import { b } from "./b.js"\n', "b": 'import { a } from "./a.js"\nexport const b = 1\n'}, "import each other"),
        ({"a": 'import { c } from "./b.js"\n', "b": "export const b = 1\n"}, "does not export: c"),
        ({"a": 'import * as b from "./b.js"\n', "b": "export const b = 1\n"}, "cannot be bundled"),
        ({"a": "export default 3\n"}, "cannot be bundled"),
        ({"a": "const x = 1\nexport { x }\n"}, "cannot be bundled"),
    ],
)
def test_what_cannot_be_bundled_is_one_sentence(texts: dict[str, str], message: str, tmp_path: Path) -> None:
    refused(ValueError, message, bundle, modules(tmp_path, **texts))


LIVE = ROOT / "sentviz" / "browser" / "live"
READ_BY_PAGES = (
    "sst2/ndt-unit-2",
    "english/minilm",
    "english/ndt-unit-2",
    "nsmc/cls-last-scaled",
    "sentiment140/7ess-v1-rope",
    "korean/e5",
)
"""A run for each kind of tokenizer: words, WordPiece, byte pairs after each cleaning, and Unigram."""
TEXTS = [
    "It's un-believably good 😀 café, naïve!",
    "<script>alert('x')</script> & <b>bold</b>",
    "e\u0301te\u0301 ﬁne Ⅳ ½ 100% #tag @you http://a.b/c?d=e",
    "a\u200bb\ufeffc\u00a0d\te\u0085f\u2028g _under_score_ 3.14",
    "👩‍👩‍👧‍👦 family 🇰🇷 flag 👍🏽 मज़ेदार فيلم رائع 很好的电影",
    "x" * 150 + " short",
    "<s> a [CLS] </s> b [UNK] <pad>",
    "ㄱㅏ 각 ＡＢＣ ｶﾞ ▁a▁b 𓂀𓂀 x𓂀y",
]
ODD = [
    *"\t\n\v\f\r\x1c\x1f\x85\xa0 \u1680\u200b\u200d\u2028\u3000\ufeff\u0300\u0301\ufe0f\u202e\0",
    *"abzABZ'’`´-()<>/&@#_.,!?;:%0123ÉİΣßﬁ½Ⅳ²𝓯漢字",
]
ODD += ["http://", "www.", "<br />", "-lrb-", "n't", "'s", "한국어", "안녕", "ㅋㅋㅋ", "😀", "👩‍👩‍👧", "🇰🇷", "مرحبا", "हिन्दी"]


def odd_texts(n: int) -> list[str]:
    """Return made-up texts of characters that tokenizers treat differently."""
    rng = np.random.default_rng(0)
    texts = ("".join(rng.choice(ODD, size=rng.integers(1, 40))) for _ in range(2 * n))
    return [text for text in texts if not is_blank(text)][:n]


def package(of: pinned.Package) -> dict[str, bytes]:
    """Return a package's files, or skip the test."""
    try:
        return dict(page.files(of))
    except DataMissingError as error:
        pytest.skip(f"the npm registry cannot be reached: {str(error)[:100]}")


READ = """
import { readFileSync } from "node:fs"
import { Tokenizer } from "./tokenizers.mjs"
import { readText } from "./text.js"
const { words, card, texts } = JSON.parse(readFileSync("asked.json", "utf8")), tokenizer = new Tokenizer(words, {})
console.log(JSON.stringify(texts.map(text => readText(tokenizer, card, text))))
"""


def read_in_javascript(model: Model, texts: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Return the tokens of texts as a live page reads them."""
    model.tokenizer.save(folder / "tokenizer.json")
    run = find(model.name)
    of = model.tokenizer
    tokens = {"drop": list(of.dropped), "start": of.specials.start, "stop": of.specials.stop, "truncation_side": of.truncation_side}
    card = {"tokens": tokens, "max_length": model.config.max_length, "cls": model.cls, "names": ["<", ">"]}
    stored = (folder / "tokenizer.json").read_text(encoding="utf-8")
    content, left = page.for_browsers(run, stored, split_special_tokens=model.tokenizer.split_special_tokens)
    request = {"words": json.loads(content), "card": card | left, "texts": list(texts)}
    (folder / "asked.json").write_text(json.dumps(request), encoding="utf-8")
    (folder / "tokenizers.mjs").write_bytes(package(pinned.TOKENIZERS)[pinned.TOKENIZERS.script])
    shutil.copy(LIVE / "text.js", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "read.js").write_text(READ, encoding="utf-8")
    done = subprocess.run([node_path(), "read.js"], cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def differences(name: str, texts: Sequence[str], folder: Path) -> list[str]:
    """Return the texts of which a page reads other ids or joins other words than the library does."""
    model = load(name)
    different = []
    for text, read in zip(texts, read_in_javascript(model, texts, folder), strict=True):
        try:
            encoded = model.encode(text)
        except InputError:  # nothing is left of it
            different += [text] * bool(read["units"])
            continue
        trace = SimpleNamespace(**{name: getattr(encoded, name) for name in ("offsets", "specials", "tokens", "segments")}, text=text)
        units = [list(map(int, word.indices)) for word in words(SimpleNamespace(text_pair=None, **vars(trace)))]
        if read["ids"] != list(map(int, encoded.ids)) or read["units"] != units:
            different.append(text)
    return different


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", READ_BY_PAGES)
def test_a_page_reads_texts_as_the_library(name: str, tmp_path: Path) -> None:
    if not (ROOT / "checkpoints" / name).is_dir():
        pytest.skip("checkpoints/ is empty")
    texts = [*TEXTS, *demo.load()["text"].tolist()[:100], *odd_texts(200)]
    assert differences(name, texts, tmp_path) == []


@pytest.mark.exhaustive
def test_what_a_page_cannot_give_is_one_sentence(tmp_path: Path) -> None:
    for name, message in {
        "imdb/hardmax-d2": "which a live page cannot prepare|another kind|no attention maps",
        "sst5_trees/sentiformer": "parts of speech",
        "question_pair/cls": "pairs of texts",
    }.items():
        if (ROOT / "checkpoints" / name).is_dir():
            refused(RunError, message, page.live_page, name, tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


def test_a_module_becomes_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "const a = 1, b = 2;export{a as first,b};\n//# sourceMappingURL=x.map"
    assert page.as_script(code, "it") == "globalThis.it = (() => {\nconst a = 1, b = 2;\nreturn { first: a, b: b }\n})()"
    refused(ValueError, "exports", page.as_script, "const a = 1", "it")
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setattr("sentviz.data.fetch.download.PAUSE", 0.0)
    refused(DataMissingError, r"A live page needs @huggingface/tokenizers 0\.2\.0 from http://127\.0", page.files, pinned.TOKENIZERS)


BLIND = """globalThis.blind = true
const real = WebAssembly.validate
WebAssembly.validate = bytes => !blind && real.call(WebAssembly, bytes)"""
OPEN = """async () => {
  blind = false
  const { models, wasm } = JSON.parse(document.getElementById("live").textContent)
  return opened(models.map(({ first, card }) => ({ ...card, view: { palettes: first.palettes } })), wasm)
}"""
LAST = """async ([answerer], text) => {
  let last
  for await (const { data } of answerer.answers(text)) last = data ?? last
  return { ...last, maps: { ...last.maps, codes: last.maps.codes.map(one => ({ ...one, codes: [...one.codes] })) } }
}"""


@pytest.mark.exhaustive
def test_the_page_answers_as_the_library_without_a_network(tiny_run: Path, tiny_model: Model, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="the extra onnx is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if (browser := find_browser()) is None:
        pytest.skip("no Chrome or Chromium on this machine")
    package(pinned.RUNTIME)
    file, cut = tmp_path / "page.html", tmp_path / "cut.html"
    page.live_page(Run.open(tiny_run), file)
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path / "profile"), executable_path=browser, args=QUIET.split(), offline=True
        )
        tab, addresses = context.new_page(), list[str]()
        tab.on("request", lambda request: addresses.append(request.url))
        tab.add_init_script(BLIND)  # the page computes nothing, so that the test can open its model
        tab.goto(file.as_uri())
        answerers = tab.evaluate_handle(OPEN)
        for k in range(8):
            text = " ".join(np.random.default_rng(k).choice(["warm", "cold", "dull", "song", "good", "🙂", "<b>"], size=2 + k % 7))
            data = answerers.evaluate(LAST, text)
            trace = explained(tiny_model, tiny_model.trace(text), ["removal"])
            assert data["probabilities"] == pytest.approx(trace.probabilities, abs=1e-5), text
            assert data["scores"] == pytest.approx(trace.token_scores["removal"], abs=1e-4), text
            packed, wanted = data["maps"]["codes"][0], trace.stack("effective")
            weights = packed["scale"] * np.array(packed["codes"]) * np.abs(packed["codes"])
            np.testing.assert_allclose(weights.reshape(wanted.shape), wanted, atol=0.01)
        assert addresses == [file.as_uri()]
        tab, text = context.new_page(), file.read_text(encoding="utf-8")
        for part in ("wasm", "graph-0", "words-0"):
            cut.write_text(text[: text.index(f'id="{part}"') + 100], encoding="utf-8")
            tab.goto(cut.as_uri())
            tab.get_by_text(re.compile("^The model of this file cannot be opened .*cut off")).wait_for(timeout=60_000)
            assert tab.locator(".word").count() > 1 and tab.locator(".verdict").inner_text()
        context.close()
