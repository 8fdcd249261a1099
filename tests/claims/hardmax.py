"""The claims of the hardmax paper on planted statements, leaders and words, and on made-up runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pandas as pd

from sentviz.papers.hardmax import claims
from sentviz.papers.hardmax.study import PUBLIC
from sentviz.runs.store import Run
from tests.claims.table import Numbers, Table, World, nothing, patched, planted

TABLE = Table("hardmax")
LEADERS, LOADED = "sentviz.analysis.testset.leaders", "sentviz.models.loading.load"


def theory(*statements: bool | None) -> Numbers:
    """Each simulated run has statements that hold, fail, or do not apply (None)."""
    stated = [SimpleNamespace(holds=holds, error=0.25 if holds else 0.5) for holds in statements]
    return patched({"sentviz.models.clustering.polytope.theory": lambda run: stated})


TABLE.of("The theorem", holds=[(theory(True, None), "60 statements hold, 0 fail, 60 do not apply", "error 0.2")],
         fails=[(theory(True, False, None), "60 statements hold, 60 fail, 60 do not apply", "error 0.5")],
         open=[(theory(None), "0 statements hold, 0 fail, 60 do not apply", "error 0")])  # fmt: skip

# ---- leaders of planted runs


@dataclass(frozen=True)
class MadeUp:
    """A run of d = 2 without files."""

    name: str
    digest: str
    configuration: str = "hardmax-d2"
    shape: Any = field(default_factory=lambda: SimpleNamespace(width=2), compare=False)
    config: Any = field(default_factory=lambda: {"data": {"name": "made up"}}, compare=False)

    def frame(self, _: str) -> pd.DataFrame:
        return pd.DataFrame()


def surveyed(world: World, tables: Sequence[pd.DataFrame], read: str = "") -> list[Any]:
    """Return made-up runs with counted leaders; a function of the leaders reads their tables in turn."""
    left = iter(tables)
    world.patch.setattr(claims, "counted", lambda runs, weights=False: runs)
    world.patch.setattr(LOADED, lambda run: SimpleNamespace(vocabulary=None))
    if read:
        world.patch.setattr(f"{LEADERS}.{read}", lambda *_: next(left))
    return [MadeUp(f"s{i}", f"digest-{i}") for i in range(len(tables))]


def at_leaders(*least: float, nearness: Sequence[tuple[float, float, int]] = ()) -> Numbers:
    """Plant the share of words at a leader after the last layer, in the lower twentieth of the reviews of each seed.

    Args:
        nearness: distance, share within it, and seed.
    """
    columns = ["measure", "layer", "mean", "q05"]
    tables = [pd.DataFrame([("at leaders", 8, 0.97, low), ("at leaders", 7, 0.5, 1 - low), ("clusters", 8, 3.0, 1 - low)], columns=columns)
              for low in least]  # fmt: skip
    rows = pd.DataFrame([*nearness, (0.001, 1.0, 99)], columns=["nearness", "q05", "seed"])
    stored = rows.assign(digest=[f"digest-{seed}" for seed in rows["seed"]])
    return planted("hardmax.study.NEARNESS", stored, lambda world: surveyed(world, [each.assign(n=200) for each in tables], "per_layer"))


WITHIN, NEARER = "within 1\u00a0% of the largest norm", "for 95\u00a0% of the words in 19 of 20 reviews this is true within"
DISTANCES = [(0.001, 0.5, 0), (0.01, 0.97, 0), (0.05, 0.99, 0), (0.01, 0.9, 1), (0.05, 0.96, 1)]
TABLE.of(
    "Eight layers are enough",
    holds=[(at_leaders(0.95, 0.96), WITHIN, "n = 200", "d = 2, 128 words (2 trainings)"), (at_leaders(0.95, 0.96, nearness=DISTANCES),
    f"{NEARER} 5.00")],
    fails=[at_leaders(0.94, 0.1)], open=[at_leaders(0.99, 0.9), at_leaders(0.1, 0.96)],
    unjudged=[(at_leaders(0.95), "one training each of d = 2, 128 words"), (at_leaders(0.94, nearness=DISTANCES[:3]), f"{NEARER} 1.00"),
              (at_leaders(0.94, nearness=[(0.05, 0.2, 0)]), "not even within 5\u00a0%"), nothing],
)  # fmt: skip

POLARITIES = {"awful": -1.0, "dull": -0.5, "lovely": 1.0, "warm": 0.2, "film": 0.0}
Words = Mapping[str, Sequence[str]]  # the leaders of each class


def leaders(*seeds: Words, polarities: Mapping[str, float] = POLARITIES) -> Numbers:
    """Plant the most frequent leaders of each seed, which are 2 from the line."""

    def numbers(world: World) -> list[Any]:
        frames = [pd.DataFrame([(k, w) for k, words in seed.items() for w in words], columns=["label", "word"]) for seed in seeds]
        every = surveyed(world, frames)
        of = dict(zip((run.name for run in every), frames, strict=True))
        world.patch.setattr(claims, "frequent_leaders", lambda run, distance: (of[run.name], abs(distance)))
        world.patch.setattr(claims, "_polarities", lambda: polarities)
        return every

    return numbers


def some(right: int, without: int) -> Words:
    return {"negative": ["awful"] * right + ["plot"] * without, "positive": ["lovely"] * right + ["film"] * without}


GOOD: Words = {"negative": ["awful", "dull"] * 4, "positive": ["lovely", "warm"] * 4}
BAD: Words = {"negative": ["lovely", "film"] * 4, "positive": ["awful", "plot"] * 4}
HALF: Words = {"negative": ["awful"] * 3 + ["plot"] * 2, "positive": ["warm"] * 3 + ["film"] * 2}
COUNTED = "negative 3 of 5, 0 of the other class, 2 without a polarity"  # 6 of the 6 leaders with a polarity, but 6 of 10
TABLE.of(
    "The most frequent leaders in the outer two thirds", holds=[leaders(GOOD, GOOD), leaders(*[some(8, 2)] * 2)],
    fails=[leaders(BAD, BAD), leaders(*[some(0, 4)] * 2)],
    open=[leaders(GOOD, BAD), leaders(*[some(6, 4)] * 2), leaders(*[{"positive": ["lovely"] * 8, "negative": []}] * 2),
          (leaders(HALF, HALF), "6 of 10", COUNTED)],
    unjudged=[leaders(GOOD), leaders(*[{"positive": [], "negative": []}] * 2), (leaders(GOOD, GOOD, polarities={}), "lexicon"), nothing],
)  # fmt: skip
TABLE.of("The most frequent leaders 2 or more", never=["holds", "fails", "open"],
         unjudged=[(leaders(GOOD, GOOD), "in the scale of its own embedding", "2 or more from the line"), leaders(BAD, BAD),
         nothing])  # fmt: skip


def furthest(*seeds: tuple[float, float, int]) -> Numbers:
    """Plant 40 leaders at the log-odds -20 to 20, and the two words of the poster at theirs; the second leads that often."""
    words = [*(f"w{i}" for i in range(40)), "amazing", "torture"]
    tables = [pd.DataFrame({"word": words, "score": [*range(-20, 0), *range(1, 21), amazing, torture], "leads": [*[3] * 40, 2, leads]})
              for amazing, torture, leads in seeds]  # fmt: skip
    return lambda world: surveyed(world, tables, "leading")


OWN = "the sentence is about the poster's own training"
TABLE.of(
    "The leaders furthest from the decision line", never=["holds", "fails"],
    unjudged=[(furthest(*[(19.5, -19.5, 1)] * 2), OWN, "amazing 2 of 21, torture 2 of 21"), (furthest((19.5, 5.0, 1)), OWN, "torture not"),
              (furthest((19.5, -19.5, 0)), OWN, "torture not"), (nothing, "not installed")],
)  # fmt: skip


def meaningful(*shares: tuple[float, float], polar: bool = True) -> Numbers:
    """Plant vocabularies of 2,000 words of which half lead, with shares of polar words among those that lead and among the others."""
    tables = []
    for led, rest in shares:
        rows = [(f"{'p' if (i * 37 % 100) < 100 * share else 'n'}{i}{kind}", 0.0, leads)
                for kind, share, leads in (("a", led, 1), ("b", rest, 0)) for i in range(1000)]  # fmt: skip
        frame = pd.DataFrame(rows, columns=["word", "score", "leads"])
        tables.append(frame.sort_values("word", key=lambda words: words.str[1:-1].astype(int)))
    known = {word: 1.0 for table in tables for word in table["word"] if polar and word.startswith("p")}
    return patched({"sentviz.papers.hardmax.claims._polarities": lambda: known}, lambda world: surveyed(world, tables, "leading"))


TABLE.of(
    "Words that lead have a polarity more often", holds=[meaningful((0.3, 0.2), (0.35, 0.2))], fails=[meaningful((0.2, 0.3), (0.2, 0.35))],
    open=[meaningful((0.3, 0.2), (0.2, 0.2)), meaningful((0.2, 0.2), (0.2, 0.2))],
    unjudged=[meaningful((0.3, 0.2)), meaningful((0.3, 0.2), polar=False), nothing],
)  # fmt: skip

# ---- accuracies of made-up runs

WIDE = "wide-512"


def of_width(wrong: Mapping[int, int], seeds: int = 2, variant: str = "", more: Numbers = nothing) -> Numbers:
    """Return runs by how many of 200 rows each dimension gets wrong."""

    def numbers(world: World) -> list[Run]:
        named = {f"hardmax-d{d}{variant and f'@{variant}'}": count for d, count in wrong.items()}
        return [*world.runs("imdb", named, seeds), *(more(world) or [])]

    return numbers


RISING, FLAT, GOOD_RUNS, POOR = {2: 80, 4: 54, 8: 30, 16: 4}, dict.fromkeys(PUBLIC, 60), dict.fromkeys(PUBLIC, 5), dict.fromkeys(PUBLIC, 80)
PARTS = "on 128 words it holds", "on 512 words, wide start it cannot be told"
TABLE.of(  # dimensions are compared within one setting, and each setting is a part of its own
    "Accuracy grows with the dimension",
    holds=[(of_width(RISING), "d 8 to 16: +13.00", "2 against 2 seeds"), of_width(RISING, 1, more=of_width(RISING, variant=WIDE))],
    fails=[of_width(RISING | {8: 80})],
    open=[of_width(RISING | {8: 54}), of_width({2: 80, 4: 54, 8: 30}), (of_width(RISING, more=of_width(FLAT, variant=WIDE)), *PARTS),
          of_width({2: 80, 4: 80}, more=of_width({8: 10, 16: 10}, variant=WIDE))],
    unjudged=[of_width(RISING, 1), of_width({2: 10}), nothing],
)  # fmt: skip
ELSEWHERE = "no run of d = 2, 128 words is installed; 512 words, wide start: 97.5\u00a0%", "learns from 70 % of the reviews"
TABLE.of(  # public accuracies are 79.1 to 88.2 %, wrong in 42 to 24 of 200 rows, each dimension a part of its own
    "The public code's accuracies are reached",
    holds=[of_width(GOOD_RUNS), (of_width({2: 5}), "on d = 2, 128 words it holds", "on d = 4, 128 words it cannot be judged here")],
    fails=[of_width(POOR), of_width(GOOD_RUNS | {16: 80}), of_width(POOR, more=of_width(GOOD_RUNS, variant=WIDE))],
    open=[of_width({2: 42, 4: 35, 8: 30, 16: 24})],
    unjudged=[(of_width(GOOD_RUNS, 1), "one seed (public code 85.05\u00a0%)"), (of_width(GOOD_RUNS, variant=WIDE), *ELSEWHERE), nothing],
)  # fmt: skip
