"""Attacks on the app, by visitors who send files, links, messages and requests."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import quote

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tools.attack.case import Attack, Case, Judge, Made, never, nothing, says
from tools.attack.folders import BAD, CONFIGS
from tools.attack.guests import App, Guest
from tools.attack.inputs import RUN, long_cells, markup, repeated
from tools.inventory import page_settings
from tools.soak import SENTENCES

MINE = f"run={RUN}&over=mine"
FAULTS = r"fault of sentviz|Traceback|\bErrno\b"
TIDY = never(FAULTS)
STRANGER = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
READING = 40.0  # seconds that visitors with long texts stay
LISTED = 22  # seconds after which the app reads the list of runs again
WITH_FILES = ("confusion", "words", "embeddings")


def _about(texts: list[str], name: str) -> str:
    """Return the parts of a page that name a file or report a fault."""
    plain = [part.replace("\\", "") for part in texts]
    return "\n".join(part for part in plain if name in part or re.search(FAULTS, part))


def uploading(page: str = "confusion", visitors: int = 1) -> Attack:
    """Visitors who send the input to a page at the same time, read what it says, and leave."""

    async def one(guest: Guest, path: Path) -> str:
        return _about([*await guest.upload(path.name, path.read_bytes()), guest.faults], path.name)

    async def run(app: App, inputs: Made) -> AsyncGenerator[str]:
        async with AsyncExitStack() as stack:
            guests = [await stack.enter_async_context(app.guest()) for _ in range(visitors)]
            for guest in guests:
                await guest.open(page, MINE)
            yield ""
            texts = await asyncio.gather(*(one(guest, Path(inputs["input"])) for guest in guests))
        yield "\n".join(dict.fromkeys(texts))

    return run


async def abandoned(app: App, inputs: Made) -> AsyncGenerator[str]:
    """A visitor who sends the input and leaves before it is answered."""
    path = Path(inputs["input"])
    async with app.guest() as guest:
        await guest.open("confusion", MINE)
        yield ""
        sending = asyncio.create_task(guest.upload(path.name, path.read_bytes()))
        await asyncio.sleep(2)
        sending.cancel()
    await asyncio.sleep(15)
    yield "left after 2 s"


def typing(characters: int) -> Attack:
    """Return an attack by a visitor who pastes a text of `characters` characters into the sentence box."""

    async def run(app: App, inputs: Made) -> AsyncGenerator[str]:
        async with app.guest() as guest:
            await guest.open(query=f"run={RUN}")
            yield ""
            text = ("good film " * (characters // 10 + 1))[:characters]
            texts = await guest.run(WidgetState(id=guest.ids["Sentence"], string_value=text))
            important = [line for line in texts if re.search(FAULTS, line) or re.search(r"^### |characters", line)]
            yield "\n".join([*important, guest.faults]).strip() or "nothing"

    return run


async def long_texts(app: App, inputs: Made) -> AsyncGenerator[str]:
    """Visitors who open links with ordinary texts of 1,400 characters, and read for a while what the searches find."""

    async def one(guest: Guest, number: int) -> None:
        words = [SENTENCES[(7 * number + place) % len(SENTENCES)] for place in range(60)]
        guest.query = f"run=english/minilm&text={quote(', and '.join(words)[:1400])}"
        answers.append(next(line for line in await guest.run(until="### ") if line.startswith("### ")))
        await guest.rest()

    answers = list[str]()
    async with AsyncExitStack() as stack:
        guests = [await stack.enter_async_context(app.guest()) for _ in range(8)]
        await guests[0].open(query="run=english/minilm&text=a+warm+song")  # the model is in memory before the attack
        yield ""
        reading = [asyncio.create_task(one(guest, number)) for number, guest in enumerate(guests)]
        await asyncio.sleep(READING)
        for task in reading:
            task.cancel()
        await asyncio.wait(reading)
    yield f"{len(answers)} answers"


ENDED = "^### .*(seconds of computing|edits were tested|nothing is left to search)"


async def one_long_text(app: App, inputs: Made) -> str:
    """Open a link with an ordinary text of 1,400 characters and wait until the page is complete or its search asks whether to go on."""
    async with app.guest() as guest:
        words = [SENTENCES[7 * place % len(SENTENCES)] for place in range(60)]
        guest.query = f"run=english/minilm&text={quote(', and '.join(words)[:1400])}"
        texts = await guest.run()
        answer = next((text for text in texts if text.startswith("### ")), "no answer")
        asks = (text for text in texts if re.search("seconds of computing|edits were tested", text))
        return f"{answer} {next(asks, 'nothing is left to search')}"


def _fields(root: Path) -> list[str]:
    """Return the names that a link may carry: the fields of the focus and the settings of single pages."""
    text = (root / "app" / "focus.py").read_text().partition("class Focus:")[2].partition("def ")[0]
    return [*re.findall(r"^    (\w+): [^=\n]+ = ", text, re.MULTILINE), *sorted(page_settings(root))]


def linked(value: str, *, together: bool = False) -> Attack:
    """Links with a hostile value in one field after another, or in all; all that the pages say of them.

    An ordinary link to the same pages comes first, so that the attack does not count the model that they load.
    """

    async def run(app: App, inputs: Made) -> AsyncGenerator[str]:
        fields, texts = _fields(app.root), []
        queries = ["&".join(f"{name}={value}" for name in fields)] if together else [f"{name}={value}" for name in fields]
        async with app.guest() as guest:
            await guest.run()
            pages = [*guest.pages] if together else [""]
            for page in pages:
                await guest.open(page, "text=a+warm+song")
            yield ""
            for page in pages:
                for query in queries:
                    texts += [line for line in (await guest.open(page, query)).splitlines() if re.search(FAULTS, line)]
            yield "\n".join([*texts, guest.faults]).strip() or f"{len(queries)} links on {len(pages)} pages open"

    return run


async def opened(app: App, inputs: Made) -> str:
    """Open every page with the default run, then with the hostile one; return the faults that pages show."""
    wrong = []
    async with app.guest() as guest:
        await guest.run()
        for page in guest.pages:
            for run in (RUN, inputs.get("run", RUN)):
                texts = await guest.open(page, f"run={run}")
                wrong += [f"{page or 'explore'} of {run}: {line}" for line in texts.splitlines() if re.search(FAULTS, line)]
        return "\n".join([*wrong, guest.faults]).strip() or f"{len(guest.pages)} pages open"


async def put_beside(app: App, inputs: Made) -> AsyncGenerator[str]:
    """Open every page with runs that ship, then put the hostile ones in place and open every page again.

    What the pages themselves need, also with the run that replaces one that cannot be shown, is in memory before the attack is measured.
    """
    folder = Path(inputs["SENTVIZ_RUNS"])
    away = folder.rename(folder.with_name("away"))
    folder.mkdir()
    for run in (RUN, "unknown"):
        await opened(app, {"run": run})
    folder.rmdir()
    away.rename(folder)
    await asyncio.sleep(LISTED)
    yield ""
    yield await opened(app, inputs)


async def clearing(app: App, inputs: Made) -> AsyncGenerator[str]:
    """A visitor whose messages ask, again and again, to empty the caches of all."""
    message = BackMsg(clear_cache=True)
    async with app.guest() as guest:
        await guest.open(query=f"run={RUN}")
        yield ""
        for _ in range(20):
            await guest.socket.send(message.SerializeToString())
            await asyncio.sleep(0.3)
    yield "sent"


async def metrics(app: App, inputs: Made) -> str:
    """Somebody who comes through a proxy asks for the process's numbers."""
    status, body = await asyncio.to_thread(app.get, "/_stcore/metrics", headers=STRANGER)
    return f"{status} {body[:80]}"


async def media(app: App, inputs: Made) -> str:
    """A visitor's address is guessed by another, and asked after its owner left."""
    async with app.guest() as owner:
        await owner.open("confusion", MINE)
        await owner.upload("mine.csv", ORDINARY)
        session = owner.session
        guesses = ["media/", "media/../media/", f"media/{secrets.token_hex(28)}.csv", "_stcore/upload_file/", "_stcore/upload_file/x/1"]
        guesses += [f"_stcore/upload_file/{session}/{k}" for k in range(3)] + ["media/%2e%2e/%2e%2e/app/main.py", "media//etc/passwd"]
        start = (await asyncio.to_thread(app.get, "/"))[1]
        answers = {path: await asyncio.to_thread(app.get, path) for path in guesses}
        served = [path for path, (status, words) in answers.items() if status == 200 and words != start]
        response = await asyncio.to_thread(app.put, f"_stcore/upload_file/{secrets.token_hex(16)}/1", "x.csv", b"text\n")
        return (
            f"gives {served}"
            if served
            else f"takes a file for nobody ({response})"
            if response < 400
            else f"none of {len(guesses)} guesses"
        )


async def marked(app: App, inputs: Made) -> str:
    """A file of markup, looked at in a browser on each page that shows rows; whether any of it ran or became elements."""
    from playwright.async_api import async_playwright

    from sentviz.export.chromium import find_browser
    from tests.browser.conftest import QUIET

    path, results = find_browser(), []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=QUIET.split())
        tab = await browser.new_page()
        for page in (*WITH_FILES, "explanations"):
            await tab.goto(f"{app.address}/{page}?{MINE}")
            uploader = tab.locator("[data-testid=stFileUploader] input[type=file]")
            try:
                await uploader.first.wait_for(state="attached", timeout=60_000 if page in WITH_FILES else 5_000)
                await uploader.first.set_input_files(inputs["input"])
                await tab.wait_for_timeout(8_000)
            except Exception as error:
                if page in WITH_FILES:
                    results.append(f"{page}: {type(error).__name__}")
            elements = await tab.evaluate(
                "[window.hit === undefined ? '' : 'ran', ...document.querySelectorAll('[data-testid=stMain] img[src=x],"
                " [data-testid=stMain] a[href^=javascript]')].filter(x => x).map(String)"
            )
            words = await tab.locator("[data-testid=stMain]").inner_text()
            results += [f"{page}: {', '.join(elements)}"] if elements else []
            results += [f"{page}: {line}" for line in words.splitlines() if re.search(FAULTS, line)]
        await browser.close()
    return "\n".join(results) or f"no markup on {len(WITH_FILES) + 1} pages"


def all_runs(folder: Path, root: Path) -> Made:
    """Every hostile run in one folder."""
    for number, make in enumerate(CONFIGS.values()):
        own = folder / str(number)
        own.mkdir()
        inputs = make(own, root)
        target = folder / "runs" / "sst2" / f"hostile-{number}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(inputs["folder_of_runs"]) / BAD, target)
    return {"run": "sst2/hostile-0", "SENTVIZ_RUNS": str(folder / "runs")}


def on_disk(content: Callable[[], bytes]) -> Callable[[Path, Path], Made]:
    """A file to send, while home and temporary files are on the small disk."""
    return lambda folder, root: {
        **repeated("large.csv", content)(folder, root),
        "SENTVIZ_HOME": str(folder / "disk" / "home"),
        "TMPDIR": str(folder / "disk"),
    }


async def sent_and_opened(app: App, inputs: Made) -> AsyncGenerator[str]:
    """Send a file, then open every page.

    The process is a fresh one. An ordinary visitor does the same before the attack is measured, so that it measures the disk, not the first
    import of every library.
    """
    await _sent("ordinary.csv", ORDINARY, app, inputs)
    yield ""
    yield await _sent("large.csv", Path(inputs["input"]).read_bytes(), app, inputs)


async def _sent(name: str, content: bytes, app: App, inputs: Made) -> str:
    """Send a file to the confusion page and open every page; return what the pages say."""
    async with app.guest() as guest:
        await guest.open("confusion", MINE)
        text = _about(await guest.upload(name, content), name)
    return "\n".join([text, await opened(app, inputs)])


def _case(name: str, make: Callable[[Path, Path], Made], run: Attack, must: Judge = TIDY, **more: object) -> Case:
    return Case(name, "app", make, run, must, **more)  # type: ignore[arg-type]


WIDE = repeated("wide.csv", lambda: b"text" + b",x" * 10**6 + b"\n")
ORDINARY = b"text,label\na warm song,positive\na dull song,negative\n"
LARGE: Callable[[], bytes] = lambda: b"text,label\n" + b"a warm song,positive\na dull song,negative\n" * 80_000  # noqa: E731
LINKS: Mapping[str, str] = {
    "1e5 characters": "x" * 100_000,
    "markup": quote("<script>window.hit=1</script><img src=x onerror=window.hit=1>"),
    "NUL": "a%00b",
    "half a character": "%ed%a0%80",
    "a huge number": "9" * 5_000,
    "a thousand parts": quote(",".join(["1:1:1"] * 1000)),
}
APP = (
    _case("five cells of 46 MB", long_cells, uploading(), says("characters|MB")),
    _case("five cells of 46 MB, left at once", long_cells, abandoned),
    _case("four visitors with 1e6 fields", WIDE, uploading(visitors=4), says("columns")),
    _case("duplicate columns", repeated("two.csv", lambda: b"text,text\na,b\n"), uploading(), says("several|twice|same name")),
    _case("a file of NULs", repeated("nul.csv", lambda: b"\0" * 20_000_000), uploading()),
    _case("a file of quotes", repeated("quotes.csv", lambda: b'text\n"' + b'""' * 5_000_000), uploading()),
    _case(
        "29,000 rows of markup",
        repeated("rows.csv", lambda: markup() + (b"\n" + markup().partition(b"\n")[2]) * 400),
        uploading("embeddings"),
    ),
    _case("markup in a file, in a browser", repeated("markup.csv", markup), marked, never("ran|img|javascript|fault|Error"), shared=True),
    _case("a text of 1e5 characters", nothing, typing(100_000)),
    _case("a text of 7.9 MB", nothing, typing(7_900_000)),
    _case("a text of 40 MB", nothing, typing(40_000_000)),
    *(_case(f"link, field by field: {name}", nothing, linked(value), seconds=300) for name, value in LINKS.items()),
    *(_case(f"link, all fields: {name}", nothing, linked(value, together=True), seconds=300) for name, value in LINKS.items()),
    _case("eight visitors with 1,400 characters", nothing, long_texts, says("^8 answers"), answers=True, seconds=300),
    _case(
        "a text of 1,400 characters, to its end",
        nothing,
        one_long_text,
        says(ENDED),
        seconds=90,
    ),
    _case("caches emptied by a visitor", nothing, clearing),
    _case("metrics for a stranger", nothing, metrics, says("^40")),
    _case("media of another visitor", nothing, media, says("^none")),
    _case("run beside: 1e12 layers", CONFIGS["1e12 layers"], put_beside, seconds=300),
    _case("run beside: no lambda_start", CONFIGS["no lambda_start"], put_beside, seconds=300),
    _case("every hostile run beside", all_runs, put_beside, seconds=400),
    _case("a full disk", on_disk(LARGE), sent_and_opened, mount="size=100k", seconds=300),
    _case("a read-only disk", on_disk(LARGE), sent_and_opened, mount="size=100k,ro", seconds=300),
)
