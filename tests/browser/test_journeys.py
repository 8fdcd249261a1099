"""Journeys of new users from the first page by clicks, which are counted, so that no way gets longer unseen; three by keyboard alone."""

import io
import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sentviz.export.verify import verify
from tests.browser.conftest import go
from tests.browser.visitor import KOREAN, SENTENCE, Visitor, ask, cell, chosen, download, page_yours, settled, surround

pytestmark = pytest.mark.exhaustive
MARKS = ["<script>hit=1</script> a warm song", "<img src=x onerror=hit=2> a dull song"]
MARKS += ["[a](javascript:hit=3) ![a](http://elsewhere.example/a.png)", "$\\frac{a}{b}$ :material/home: :red[dull] `b` **c**"]
MARKS += ["\u202emraw\u202c \u200f\u05d7\u05dd", "</script><svg onload=hit=4> %{text} <extra></extra>", "a\u0301" * 400, "x" * 30_000]
FOUND = """() => ({
  hit: window.hit,
  marked: document.querySelectorAll(
    '[data-testid=stMain] :is(img:not([alt=sentviz]), .katex, .stMarkdownColoredText, svg script, b)').length,
  icons: [...document.querySelectorAll('[data-testid=stIconMaterial]')].filter(node => node.textContent === 'home').length,
})"""


@pytest.fixture
def visitor(page: Any, server: str) -> Visitor:
    visitor = Visitor(page)
    visitor.arrive(server)
    return visitor


def test_why_did_it_say_negative(visitor: Visitor) -> None:
    says = visitor.ask(SENTENCE)
    assert says.startswith("Negative")
    reason = visitor.page.locator(".st-key-why-reason")
    reason.filter(has_text=re.compile("Without|With|No single")).wait_for()
    assert re.search("|".join(f"“{word}”" for word in re.findall(r"\w+", SENTENCE)), reason.inner_text()) and visitor.clicks == 1
    assert download(visitor.page, "verdict", "pdf").startswith(b"%PDF-")


def test_lambda_and_the_spread_of_cls_attention_over_training(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("Model", "Lambda")
    page.wait_for_selector(".st-key-figure-lambda .main-svg")
    assert "λ" in page.locator(".st-key-figure-lambda").inner_text()
    visitor.open("Model", "Training")
    visitor.click(page.get_by_role("button", name=re.compile("^Watch a training")))
    page.locator(".st-key-figure-through .of-heads").wait_for()
    settled(page)
    visitor.click(page.locator(".st-key-views").get_by_role("combobox", name="Model"))
    page.keyboard.type("sst2/minilm-epochs")  # it has [CLS]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("minilm-epochs"))
    settled(page)
    lines = page.locator(".st-key-figure-through .of-heads")
    lines.get_by_role("combobox", name="Measure of the heads").select_option(label="CLS attention std, from [CLS] to others")
    visitor.clicks += 2
    lines.get_by_text("layer 2").first.wait_for()
    assert re.search(r"layer 1\s*0\.\d+", lines.inner_text()) and visitor.clicks == 8


def test_the_help_of_a_link_is_in_nobodys_way(visitor: Visitor) -> None:
    """The pointer goes from a view up to its place, through the help of the view."""
    page = visitor.page
    visitor.open("Model", "Lambda")
    view = page.locator(".st-key-tabs").get_by_role("link", name="Training", exact=True).bounding_box()
    page.mouse.move(view["x"] + 20, view["y"] + 10)
    page.wait_for_selector("[role=tooltip]")
    for step in range(8):
        page.mouse.move(view["x"] + 20, view["y"] + 10 - 6 * step)
    page.locator(".st-key-places").get_by_role("link", name="Model", exact=True).click(timeout=5_000)


def test_hardmax_leaders(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("Sentence", "Hardmax clusters")
    page.locator(".particles canvas").wait_for()
    visitor.click(page.get_by_role("button", name="Play").first)
    page.locator(".particles.playing").wait_for()
    visitor.click(page.locator(".st-key-focus-lab button", has_text="Leaders"))
    negative = page.locator("[class*=st-key-plot-leaders]").first
    negative.locator(".main-svg").first.wait_for()
    assert "terrible" in negative.inner_text() and visitor.clicks == 4


def test_a_cluster_and_what_it_holds(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("Rows", "Map: t-SNE, UMAP")
    area = page.locator(".st-key-figure-embedding canvas")
    area.wait_for()
    surround(page, area, [(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7)])
    visitor.clicks += 1
    assert chosen(page) > 20
    settled(page)
    page.get_by_text("What the selection holds").wait_for()
    page.locator(".st-key-figure-selection-words, [class*=selection-words]").first.wait_for()
    assert re.search(r"[\d,]+ rows", page.locator("[data-testid=stMain]").inner_text().partition("What the selection holds")[2])
    assert visitor.clicks == 3


def test_a_korean_sentence(visitor: Visitor) -> None:
    says = visitor.ask(KOREAN)
    assert "korean" in visitor.page.url or "korean/e5" in visitor.page.locator("[data-testid=stMain]").inner_text()
    assert says and visitor.clicks == 1


def test_a_phone_in_the_dark(page: Any, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(server)
    page.wait_for_selector(".st-key-canvas .word", timeout=120_000)
    settled(page)
    assert ask(page, "Not bad at all.").startswith("Positive")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert page.locator("h3").first.bounding_box()["y"] < 844


@pytest.fixture
def at_keyboard(page: Any, server: str) -> Visitor:
    visitor = Visitor(page, has_mouse=False)
    visitor.arrive(server)
    return visitor


def test_why_did_it_say_negative_by_keyboard(at_keyboard: Visitor) -> None:
    assert at_keyboard.ask(SENTENCE).startswith("Negative")
    at_keyboard.page.locator(".st-key-why-reason").filter(has_text=re.compile("Without|With|No single")).wait_for()
    settled(at_keyboard.page)
    at_keyboard.reach("Export", "button")
    at_keyboard.press("Enter")
    at_keyboard.page.locator(".st-key-export-what").wait_for()
    assert at_keyboard.download("^PDF").startswith(b"%PDF-")


def test_two_runs_to_a_verdict_by_keyboard(at_keyboard: Visitor) -> None:
    page = at_keyboard.page
    at_keyboard.find("compare models", "comparison")
    at_keyboard.choose("^Model", "sst2/ndt-unit-2")
    page.wait_for_url(re.compile("ndt-unit-2"))
    page.locator("h4").first.wait_for()
    settled(page)
    at_keyboard.reach("Beside it")
    at_keyboard.press("Backspace")
    page.get_by_text("Choose at least one more model").wait_for()
    settled(page)
    at_keyboard.choose("Beside it", "sst2/vanilla-matched")
    at_keyboard.press("Escape")
    page.locator("h4", has_text="sst2/vanilla-matched").wait_for()
    settled(page)
    assert at_keyboard.download(r"Report, one page \(PDF\)").startswith(b"%PDF-")


def test_from_an_own_file_to_its_rows_by_keyboard(at_keyboard: Visitor, tmp_path: Path) -> None:
    file, page = tmp_path / "answers.csv", at_keyboard.page
    texts = [f"A {'warm' if k % 2 else 'dull'} film{', with a battery' if k % 4 == 0 else ''}, number {k}." for k in range(400)]
    frame = pd.DataFrame({"text": texts, "label": ["negative", "positive"] * 200})
    frame.assign(prob=[0.9 if k % 4 in (0, 1, 3) else 0.2 for k in range(400)]).to_csv(file, index=False)
    at_keyboard.find("upload a file", "yours")
    page.locator("[data-testid=stFileUploader]").wait_for()
    settled(page)
    at_keyboard.reach(r"^upload\s+Upload$|^Browse files", "button")
    with page.expect_file_chooser() as chooser:
        page.wait_for_timeout(300)  # until Chromium leaves its window to this test
        at_keyboard.press("Enter")
    chooser.value.set_files(str(file))
    page.get_by_role("button", name="Show the mistakes").wait_for()
    settled(page)
    at_keyboard.reach("Show the mistakes")
    at_keyboard.press("Enter")
    page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?").wait_for()
    settled(page)
    at_keyboard.reach("", "radio")
    at_keyboard.press("Space")
    weakest = page.locator(".st-key-weakest button").first
    weakest.wait_for()
    settled(page)
    at_keyboard.reach("or more words", "button")
    at_keyboard.press("Enter")
    page.locator(".st-key-one-row").wait_for()
    settled(page)
    at_keyboard.reach("Next mistake")
    at_keyboard.press("Enter")
    settled(page)
    assert "battery" in page.locator(".st-key-one-row [data-testid=stText]").first.inner_text()
    at_keyboard.reach("CSV", back=True)
    assert b"battery" in at_keyboard.download("CSV")


def test_from_the_first_page_to_the_verdict_and_its_report(page: Any, server: str, tmp_path: Path) -> None:
    page.goto(f"{server}/?run=sst2%2Fndt-unit-2")
    page.locator("h3").first.wait_for(timeout=90_000)
    settled(page)
    clicks = 0

    def click(place: Any) -> None:
        nonlocal clicks
        place.click()
        clicks += 1

    clicks += go(page, "Rows", "Models side by side")
    page.locator("h4").first.wait_for(timeout=90_000)
    settled(page)
    click(page.locator(".st-key-beside .react-aria-ComboBox button[aria-label^=Remove]").last)
    settled(page)
    box = page.locator(".st-key-beside input")
    click(box)
    box.fill("sst2/vanilla-matched")
    click(page.get_by_role("option").filter(has_text="sst2/vanilla-matched").first)
    page.keyboard.press("Escape")
    page.locator("h4", has_text="sst2/vanilla-matched").wait_for(timeout=60_000)
    verdict = page.locator("h4").first.inner_text()
    settled(page)
    with page.expect_download(timeout=90_000) as download:
        click(page.locator(".st-key-comparison-pdf button"))
    path = tmp_path / "report.pdf"
    download.value.save_as(path)
    assert clicks == 6 and "sst2/vanilla-matched" in verdict
    assert path.read_bytes().startswith(b"%PDF-") and verify(path).state == "equal" and page.outside == []


def test_from_a_cell_to_a_row_in_explore(page: Any, server: str) -> None:
    page.goto(f"{server}/confusion?run=sst2%2Fndt-unit-2&over=demo")
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    cell(page, 1, 0)
    page.wait_for_url(re.compile("slice=cell"))
    lines = page.locator(".st-key-plot-matrix .annotation-text").nth(2).locator("tspan").all_text_contents()
    page.wait_for_function("document.querySelector('.st-key-drawer-head h5')?.innerText.endsWith('positive predicted as negative')")
    assert re.search(r"([\d,]+) of", page.locator(".st-key-drawer-head h5").inner_text())[1] == lines[0].strip()  # type: ignore[index]
    cell(page, 1, 0)
    page.wait_for_function("!location.search.includes('slice')")
    cell(page, 0, 1)
    page.wait_for_url(re.compile("slice=cell"))
    settled(page)
    page.locator(".st-key-chip-slice button").first.click()
    page.wait_for_function("!location.search.includes('slice')")
    cell(page, 0, 1)  # what was let go by its chip can be picked again
    page.wait_for_url(re.compile("slice=cell"))
    settled(page)
    page.locator("[data-testid=stDataFrame]").first.scroll_into_view_if_needed()
    settled(page)
    table = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.click(table["x"] + 18, table["y"] + 36 + 17)  # the box that chooses the first row
    settled(page)
    page.locator(".st-key-drawer-open button").click()
    page.wait_for_selector(".st-key-canvas .word", timeout=60_000)
    assert "row=" in page.url and page.locator("h3").first.inner_text().startswith("Positive") and page.outside == []


def test_answers_of_a_file_from_the_choice_to_a_row_and_a_pdf(page: Any, server: str, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    texts = ["A warm film.", "Two hours lost.", "The soup was quick and hot.", "Nobody laughed."]
    frame = pd.DataFrame({"text": texts, "label": ["positive", "negative"] * 2, "prob": [0.9, 0.2, 0.3, 0.4]})
    frame.to_csv(file, index=False)
    page_yours(page, server, "A file")
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    page.get_by_role("button", name="Show the mistakes").click(timeout=120_000)
    question = page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?")
    question.wait_for(timeout=120_000)
    assert page.locator(".st-key-plot-matrix").count() == 0
    question.get_by_text("prob").click()
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    page.get_by_text("answers.csv is right on").wait_for()
    cell(page, 1, 0)
    page.wait_for_function("document.querySelector('.st-key-drawer-head h5')?.innerText.includes('1 of 4 rows')")
    settled(page)
    page.locator("[data-testid=stDataFrame]").first.scroll_into_view_if_needed()
    settled(page)
    table = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.click(table["x"] + 18, table["y"] + 36 + 17)
    page.get_by_role("button", name=re.compile("Open in Sentence, as .+ reads it")).wait_for(timeout=120_000)
    assert texts[2] in page.locator("[data-testid=stText]").all_inner_texts()
    assert download(page, "matrix", "pdf").startswith(b"%PDF")


def test_marks_in_a_file_stay_text(page: Any, server: str, tmp_path: Path) -> None:
    file = tmp_path / "a -- b :smile: :material_home: $x$ <b>.csv"
    frame = pd.DataFrame({"<img src=x onerror=hit=5> $t$": MARKS * 4, "label": ["positive", "negative"] * 16})
    frame.to_csv(file, index=False)
    page.goto(f"{server}/confusion?over=mine")
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=120_000)
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    page.wait_for_selector(".st-key-plot-matrix .main-svg", timeout=120_000)
    settled(page)
    summary = page.get_by_text("32 rows.").first.inner_text().replace("\u2060", "")
    assert summary.splitlines()[0] == f"{file.name}: 32 rows." and "4 cells have more than 20,000 characters" in summary
    for name, there in (
        ("Confusion", ".st-key-plot-matrix"),
        ("Word clouds", ".st-key-figure-cloud"),
        ("Map: t-SNE, UMAP", ".st-key-figure-embedding"),
    ):
        go(page, "Rows", name)
        page.wait_for_selector(there, timeout=120_000)
        settled(page)
        assert page.evaluate(FOUND) == {"hit": None, "marked": 0, "icons": 0}
    assert page.outside == []


def table(n: int) -> pd.DataFrame:
    """Return predictions of which half are wrong where the text has the word "battery", and few elsewhere."""
    place = pd.Series(range(n))
    texts = [f"A {'warm' if k % 2 else 'dull'} film{' battery' if k % 5 == 0 else ''}, number {k}." for k in place]
    wrong = (place % 5 == 0) & (place % 20 < 10) | (place % 50 == 7)
    label = (place % 2).map({0: "negative", 1: "positive"})
    columns = {"text": texts, "label": label, "predicted": ((place + wrong) % 2).map({0: "negative", 1: "positive"})}
    return pd.DataFrame({**columns, "product": (place % 3).map({0: "phone", 1: "lamp", 2: "book"})})


def test_from_a_file_to_its_weakest_slice_a_mistake_a_label_and_an_export(page: Any, server: str, tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    table(5_000).to_csv(file, index=False)
    page.set_default_timeout(120_000)
    page.goto(server)
    page.get_by_text("Bring yours", exact=True).first.wait_for()
    settled(page)
    clicks, begin = 0, time.monotonic()

    def click(place: Any) -> None:
        nonlocal clicks
        place.click()
        clicks += 1

    clicks += go(page, "Bring yours")
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(str(file))
    clicks += 2  # Browse files, and the file itself.
    click(page.get_by_role("button", name="Show the mistakes"))
    question = page.get_by_role("radiogroup", name="The file has predictions. Whose answers shall be judged?")
    click(question.get_by_text("predicted").first)
    weakest = page.locator(".st-key-weakest button").first
    weakest.wait_for()
    assert "with the word “battery”" in weakest.inner_text()
    click(weakest)
    row = page.locator(".st-key-one-row")
    row.wait_for()
    settled(page)
    assert "battery" in row.locator("[data-testid=stText]").first.inner_text()
    assert page.evaluate("document.querySelector('.st-key-one-row').getBoundingClientRect().top < innerHeight")
    first = row.locator("[data-testid=stText]").first.inner_text()
    click(row.get_by_role("button", name="Next mistake"))
    page.wait_for_function("text => document.querySelector('.st-key-one-row [data-testid=stText]')?.innerText !== text", arg=first)
    settled(page)
    text = row.locator("[data-testid=stText]").first.inner_text()
    click(row.locator("[data-testid=stSelectbox]").first)
    click(page.get_by_role("option", name="positive").first)
    page.get_by_text("1 row with your label or note.").wait_for()
    settled(page)
    with page.expect_download() as download:
        click(page.locator(".st-key-drawer-csv button").first)
    seconds = time.monotonic() - begin
    rows = pd.read_csv(io.BytesIO(Path(download.value.path()).read_bytes()))
    of = table(5_000)
    assert sorted(rows["text"]) == sorted(of.loc[of["text"].str.contains("battery"), "text"])
    assert rows["product"].tolist() == of["product"].iloc[rows["id"] - 1].tolist() and "your label" in rows
    assert rows.loc[rows["your label"] == "positive", "text"].tolist() == [text]
    assert clicks <= 10, f"{clicks} clicks, {seconds:.0f} s"
