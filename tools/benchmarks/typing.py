"""Time from a key to the painted picture, beside Enter; 20 visitors who type at once, every answer checked; processor and memory."""

from __future__ import annotations

import json
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from sentviz.runs.store import Run, runs
from tests.browser.conftest import ROOT
from tools.benchmarks.app import served
from tools.benchmarks.timing import say

NAMES = ("sst2/ndt-unit-2", "english/minilm", "english/mpnet")
TEXT = "The plot is thin, but the actors are good"  # 10 tokens and more, by the tokenizer
KEYS = 40
VISITORS, ASKED, PACE = 20, 100, 0.5  # visitors, keys of each, seconds from one key of a visitor to the next
WORDS = ("good", "bad", "dull", "warm", "thin", "loud", "funny", "long")

WATCH = """() => {
  window.took = []
  let from = 0
  document.addEventListener("input", event => { from = event.timeStamp }, true)
  const all = [...document.querySelectorAll(".st-key-canvas *")], root = all.map(node => node.shadowRoot).find(Boolean) || document
  new MutationObserver(() => {
    if (!from) return
    const began = from
    from = 0
    requestAnimationFrame(() => {
      const painted = new MessageChannel()
      painted.port1.onmessage = () => took.push(performance.now() - began)
      painted.port2.postMessage(0)
    })
  }).observe(root.querySelector(".words"), { childList: true })
}"""


def keys() -> None:
    """Measure the milliseconds from a key to the frame that shows it, and from Enter to the same picture, with one visitor."""
    for name in NAMES:
        if isinstance(runs().get(name), Run):
            _keys(name)


def _keys(name: str) -> None:
    seconds: dict[str, list[float]] = {}
    with served(f"?run={name}") as page:
        page.wait_for_selector(".st-key-canvas .word")
        box = page.locator(".st-key-sentence input")
        box.fill(TEXT)
        box.press("Enter")
        time.sleep(10)
        page.evaluate(WATCH)
        box.press("End")
        for k in range(KEYS):
            box.press("Backspace" if k % 2 else "x")
            time.sleep(0.8)
        took = sorted(page.evaluate("took"))
        seconds["key to picture, p50"], seconds["key to picture, p95"] = (
            [statistics.median(took) / 1e3],
            [took[int(0.95 * len(took))] / 1e3],
        )
        entered = []
        for k in range(8):
            time.sleep(3)
            text = f"{TEXT} {WORDS[k]}"
            page.route("**/live", lambda route: route.abort())
            box.fill(text)
            begin = time.perf_counter()
            box.press("Enter")
            page.locator(".st-key-canvas .word").get_by_text(WORDS[k], exact=True).last.wait_for()
            entered.append(time.perf_counter() - begin)
        seconds["Enter to picture, p50"] = entered
    say(f"{name}, {len(took)} keys", {key: statistics.median(values) for key, values in seconds.items()}, "Enter to picture, p50")


def answer_cost() -> None:
    """Measure the processor's milliseconds of one answer, at 12 and 18 tokens."""
    for name in NAMES:
        if isinstance(runs().get(name), Run):
            for words in (4, 10):
                took = []
                for k in range(30):
                    text, begin = f"visitor {k} finds the film {' '.join(random.Random(k).choices(WORDS, k=words))}", time.thread_time()
                    _answer(name, text)
                    took.append(time.thread_time() - begin)
                say(f"{name}, processor time of an answer, {words} random words", {"p25": sorted(took)[7], "p50": sorted(took)[15]}, "p50")


def memory(answers: int = 10_000) -> None:
    """Measure the memory of a process that answers with a 2-layer run, then with MiniLM: flat, however many answers."""
    from app.server.process import limit_arenas

    limit_arenas()
    for name in NAMES[:2]:
        for k in range(answers if isinstance(runs().get(name), Run) else 0):
            draw = random.Random(k)
            _answer(name, f"visitor {k} finds the film {' '.join(draw.choices(WORDS, k=draw.randint(1, 14)))}")
            if k + 1 in (answers // 10, answers // 4, answers // 2, answers):
                resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
                print(f"{name}, {k + 1:,} answers: {resident:,.0f} MB", flush=True)  # noqa: T201


def _answer(name: str, text: str) -> None:
    from app.live import Question, picture

    picture(Question({"run": name}, text, "", "").focus())


SERVER = """
import os, sys, uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from app import live
live._KEY = bytes.fromhex(os.environ["KEY"])
uvicorn.run(Starlette(routes=[Route("/live", live.Live().answer, methods=["POST"])]), port=int(sys.argv[1]), log_level="error")
"""


def crowd() -> None:
    """Measure how long 20 visitors wait who type two keys a second each, and count the answers that differ from the library's."""
    for name in NAMES[:2]:
        if isinstance(runs().get(name), Run):
            _crowd(name)


def _crowd(name: str) -> None:
    from app import live
    from sentviz import load

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    worked = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], cwd=ROOT, env=os.environ | {"KEY": live._KEY.hex()})
    answers: list[tuple[str, list[float], float]] = []
    refused = [0]

    def post(text: str, visitor: str) -> dict[str, Any]:
        body = json.dumps({"view": {"run": name}, "text": text, "pair": "", "visitor": visitor}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/live", body), timeout=60) as answer:
            content: dict[str, Any] = json.load(answer)
        return content

    def visit(number: int) -> None:
        draw, visitor = random.Random(number), live.ticket()
        words = [draw.choice(WORDS) for _ in range(12)]
        time.sleep(draw.random() * PACE)
        for k in range(ASKED):
            begin, text = time.perf_counter(), f"visitor {number} finds the film {' '.join(words)} {'x' * (k % 7)}{k}"
            try:
                answers.append((text, post(text, visitor)["data"]["probabilities"], time.perf_counter() - begin))
            except urllib.error.HTTPError:
                refused[0] += 1
            time.sleep(max(0.0, PACE - (time.perf_counter() - begin)))

    try:
        for _ in range(100):
            try:
                post(TEXT, live.ticket())
                break
            except OSError:
                time.sleep(0.2)
        visitors = [threading.Thread(target=visit, args=(number,)) for number in range(VISITORS)]
        for each in visitors:
            each.start()
        for each in visitors:
            each.join()
    finally:
        server.terminate()
        server.wait()
    done = resource.getrusage(resource.RUSAGE_CHILDREN)
    each = (done.ru_utime + done.ru_stime - worked.ru_utime - worked.ru_stime) / len(answers)  # The start is included.
    model, took = load(name), sorted(seconds for _, _, seconds in answers)
    frame = model.predict([text for text, _, _ in answers])
    wrong = sum(abs(float(frame[model.labels[-1]].iloc[k]) - probabilities[-1]) > 1e-3 for k, (_, probabilities, _) in enumerate(answers))
    p50, p95 = statistics.median(took), took[int(0.95 * len(took))]
    title = f"{name}, {VISITORS} visitors, {len(answers):,} answers, {wrong} wrong, {refused[0]} refused"
    say(title, {"p50": p50, "p95": p95, "processor time of the server": each}, "p50")
