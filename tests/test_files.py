"""Files of visitors and who waits for them, and the sentence in the place of a part of a page that failed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from streamlit.runtime import memory_media_file_storage as media
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest

from app.blocks import my_file
from app.server import queue
from app.server.process import guard_files
from app.server.queue import turns
from app.text import md, with_code
from sentviz.errors import InputError
from sentviz.io.files import inside
from tests.kit import refused

FILE = UploadedFileRec("a", "mine.csv", "text/csv", b"text\nwarm\n")


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore Streamlit's functions after the test."""
    monkeypatch.setattr(media, "create_fast_hasher", media.create_fast_hasher)
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    guard_files()


def test_nobody_computes_the_address_of_a_file_from_its_content(guarded: None) -> None:
    def stored() -> str:
        storage = media.MemoryMediaFileStorage("/media")
        return storage.load_and_get_id(b"text,label\nwarm,positive\n", "text/csv", MediaFileKind.DOWNLOADABLE, "rows.csv")

    first, again = stored(), stored()
    guard_files()
    assert first == again != stored()
    uploads = MemoryUploadedFileManager("/upload")
    for session, name in (("s", "a"), ("other", "a"), ("s", "b")):
        uploads.add_file(session, FILE._replace(file_id=name))
    assert [file.file_id for file in uploads.get_files("s", ["a", "b"])] == ["b"]
    assert uploads.get_files("other", ["a"]) and uploads._total_bytes == 2 * len(FILE.data)


def test_texts_and_names_stay_in_their_place(tmp_path: Path) -> None:
    for text in (":home:", ":material/home:", "a -- b", "a -> b", "a <-> b", "a >= b"):
        escaped = md(text).replace("\\", "")
        assert escaped.replace("\u2060", "") == text and escaped.count("\u2060") == 1
    assert "\u2060" not in md("10:30, a well-made film: 5 > 4, so it is--or not")
    for text, markdown in (
        ("a_b has no rows. `sentviz evaluate a_b` adds them.", "a\\_b has no rows\\. `sentviz evaluate a_b` adds them\\."),
        ("one ` only", "one \\` only"),
        ("two `` in a row", "two \\`\\` in a row"),
    ):
        assert with_code(text) == markdown
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    for link in (folder / "linked", folder / "below" / "linked"):
        link.symlink_to(tmp_path / "secret")
    (folder / "plain").write_text("y")
    (folder / "again").symlink_to(folder / "plain")
    assert inside(folder, "plain").read_text() == inside(folder, "again").read_text() == "y"
    for name in ("..", "../secret", "below/../../secret", "linked", "below/linked"):
        refused(InputError, "is a link to another folder", inside, folder, name)


def page() -> None:
    from app.blocks import my_file
    from sentviz.runs.store import runs

    my_file.choose_file(next(run for run in runs().values() if run.has_weights))


class Chosen(SimpleNamespace):
    """A stand-in for the file that the uploader returns."""

    def getvalue(self) -> bytes:
        return FILE.data


def test_a_file_is_read_once_in_its_turn_whether_it_is_a_table_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    read, busy = list[str](), list[int]()

    def reading(data: bytes, name: str, **_: object) -> tuple[pd.DataFrame, list[str]]:
        read.append(name)
        busy.append(len(turns("file")._busy))
        if name == "bad.csv":
            raise InputError("bad.csv is no table.")
        return pd.DataFrame({"text": ["warm"]}), []

    chosen: dict[str, Any] = {"file": Chosen(file_id="1", name="bad.csv")}
    monkeypatch.setattr(my_file, "read_table", reading)
    monkeypatch.setattr(my_file.st, "file_uploader", lambda *args, **settings: chosen["file"])
    app = AppTest.from_function(page, default_timeout=60).run().run()
    assert not app.exception and [warning.value for warning in app.warning] == ["bad\\.csv is no table\\."] and read == ["bad.csv"]
    chosen["file"] = Chosen(file_id="2", name="good.csv")
    app.run().run()
    assert not app.warning and read == ["bad.csv", "good.csv"] and busy == [1, 1] and app.session_state["mine"].text == "text"


def working() -> None:
    import streamlit as st

    from app.server.queue import turn

    with turn(long=True) as step:
        st.markdown("begun")
        step()
        st.markdown("went on")


@pytest.mark.parametrize("connected", [True, False])
def test_the_work_of_a_visitor_who_left_ends_at_its_next_step(connected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "is_present", lambda who: connected)
    monkeypatch.setattr("sentviz.models.budget.SLICE", -1.0)  # each step ends a slice
    page = AppTest.from_function(working, default_timeout=60).run()
    assert not page.exception and [item.value for item in page.markdown] == ["begun", "went on"][: 1 + connected]
    assert not turns("model")._busy


def test_who_is_here_is_who_has_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue.runtime, "exists", lambda: True)
    monkeypatch.setattr(queue.runtime, "get_instance", lambda: SimpleNamespace(is_active_session=lambda who: who == "a"))
    assert [queue.is_present(who) for who in ("a", "b", "")] == [True, False, True]


def failing(how):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    """Draw a part that fails as asked, and another part after it."""
    import streamlit as st

    from app.blocks.boundary import boundary
    from sentviz.errors import InputError
    from sentviz.models.budget import Budget, Spent

    @boundary("own", **how.get("boundary", {}))
    def draw() -> str:
        st.text("before")
        if error := how.get("error"):
            raise Spent(Budget(20.0)) if error == "spent" else KeyError("x") if error == "other" else InputError(error)
        return "result"

    st.text(f"{draw()} after")


def drawn(**how: object) -> AppTest:
    return AppTest.from_function(failing, args=(how,)).run()


def texts(app: AppTest) -> list[str]:
    return [text.value for text in app.text]


def test_an_error_is_one_sentence_and_the_page_goes_on() -> None:
    app = drawn()
    assert texts(app) == ["before", "result after"] and not app.warning
    app = drawn(error="a*b is missing. `sentviz runs` lists all.")
    assert [warning.value for warning in app.warning] == [f"{md('a*b is missing. ')}`sentviz runs`{md(' lists all.')}"]
    assert texts(app) == ["before", "None after"] and not app.exception
    app = drawn(error="spent")
    assert len(app.warning) == 1 and app.button(key="go-on-own").label == "Go on for 20 seconds"
    assert drawn(error="other").exception


@pytest.mark.parametrize("page", [False, True])
def test_a_quiet_error_is_small_and_an_error_of_the_page_ends_it(page: bool) -> None:
    app = drawn(error="It is gone.", boundary={"quiet": True, "page": page})
    assert [caption.value for caption in app.caption] == [md("It is gone.")] and not app.warning
    assert texts(app) == ["before"] + ["None after"] * (not page)
