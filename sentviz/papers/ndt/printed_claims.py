"""What the NDT paper says, held against its own tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sentviz.analysis.claim import Claim, Finding, Reference, Verdict, alike
from sentviz.papers.ndt import prints
from sentviz.papers.ndt.study import DATASETS
from sentviz.papers.studies.against import minus
from sentviz.runs.store import Run


def _accuracies(dataset: str) -> tuple[float, list[float]]:
    """Printed accuracies in percent: DT's, and those of the 12 NDT variants."""
    frame = prints.table("classification")
    rows = frame[frame["dataset"] == dataset].to_dict("records")
    dt = next(float(row["accuracy_pct"]) for row in rows if row["family"] == "diff")
    return dt, [float(row["accuracy_pct"]) for row in rows if row["family"] == "ndt"]


def _beats(dataset: str, said: int) -> Callable[[Sequence[Run]], Finding]:
    def test(_: Sequence[Run]) -> Finding:
        dt, ndt = _accuracies(dataset)
        found = sum(value > dt for value in ndt)
        return Finding("holds" if found == said else "fails", f"the table has {found} of {len(ndt)} above DT's {dt:.2f}")

    return test


def _spreads(_: Sequence[Run]) -> Finding:
    twitter, imdb = (max(ndt) - min(ndt) for ndt in (_accuracies("twitter_financial")[1], _accuracies("imdb")[1]))
    found: Verdict = "holds" if twitter < imdb else "fails"
    return Finding(found, f"NDT's spread is {twitter:.2f} on Twitter and {imdb:.2f} on IMDB")


def _yelp(_: Sequence[Run]) -> Finding:
    ndt = _accuracies("yelp")[1]
    spread = max(ndt) - min(ndt)
    return Finding("holds" if spread < 0.6 else "fails", f"from {min(ndt):.2f} to {max(ndt):.2f}: {spread:.2f} points")


def _falls(_: Sequence[Run]) -> Finding:
    frame = prints.table("lambdas").sort_values("component")
    rows = [group["lambda"].abs().to_numpy() for _, group in frame.groupby(["dataset", "model", "layer"]) if len(group) > 1]
    kept = sum(bool((np.diff(row) < 0).all()) for row in rows)
    return Finding("holds" if kept == len(rows) else "fails", f"by size, in {kept} of {len(rows)} printed rows with several lambdas")


def _negative(dataset: str, low: float, high: float) -> Callable[[Sequence[Run]], Finding]:
    """Under [-1,1] all printed lambdas of a data set are negative, and run from low to high."""

    def test(_: Sequence[Run]) -> Finding:
        frame = prints.table("lambdas")
        values = frame[(frame["constraint"] == "[-1,1]") & (frame["dataset"] == dataset)]["lambda"]
        found = values.min(), values.max()
        said = minus(f"the table has {found[0]:.4f} to {found[1]:.4f}; {int((values < 0).sum())} of {len(values)} are negative")
        return Finding("holds" if found == (low, high) else "fails", said)

    return test


def _grows(dataset: str = "") -> Callable[[Sequence[Run]], Finding]:
    """Lambda is larger in layer 2: on one data set the unbounded variants, as the paper has it; without one all variants of all sets."""

    def test(_: Sequence[Run]) -> Finding:
        frame = prints.table("lambdas")
        if dataset:
            frame = frame[(frame["dataset"] == dataset) & frame["constraint"].isin(["[0,inf)", "(-inf,inf)"])]
        wide = frame.pivot_table(index=["dataset", "model", "component"], columns="layer", values="lambda")
        kept = (wide[2] > wide[1]).groupby("dataset").agg(["sum", "size"])
        said = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in kept.iterrows())
        return Finding("holds" if bool((kept["sum"] == kept["size"]).all()) else "fails", f"of the printed pairs: {said}")

    return test


def _together(_: Sequence[Run]) -> Finding:
    """Printed silhouettes and accuracies by rank, on the two binary tasks."""
    from scipy.stats import spearmanr

    tables = [prints.table(name).set_index(["dataset", "model"]) for name in ("silhouette", "classification")]
    both = tables[0][["silhouette"]].join(tables[1][["accuracy_pct"]].astype(float), how="inner")
    found = {name: spearmanr(both.loc[dataset].to_numpy(float)) for name, dataset in (("IMDB", "imdb"), ("SST-2", "sst2"))}
    said = "; ".join(minus(f"{name} {one.statistic:+.2f}, p = {one.pvalue:.2g}") for name, one in found.items())
    told: Verdict = "open"
    if any(one.statistic <= 0 for one in found.values()):
        told = "fails"
    elif all(one.pvalue <= 0.05 for one in found.values()):
        told = "holds"
    return Finding(told, f"rank correlations over {len(both.loc['sst2'])} configurations: {said}")


def _printed_lead(dataset: str, model: str, vanilla: float, diff: float) -> Callable[[Sequence[Run]], Finding]:
    """The best printed NDT, and its lead in points over vanilla and DT."""

    def test(_: Sequence[Run]) -> Finding:
        frame = prints.table("classification")
        rows = frame[frame["dataset"] == dataset].set_index("model")["accuracy_pct"].astype(float)
        best = str(rows[rows.index.str.startswith("ndt-")].idxmax())
        leads = rows[best] - rows["vanilla"], rows[best] - rows["diff"]
        same = best == model and abs(leads[0] - vanilla) < 0.005 and abs(leads[1] - diff) < 0.005
        said = f"the best is {best}: {leads[0]:+.2f} over vanilla, {leads[1]:+.2f} over DT"
        return Finding("holds" if same else "fails", said)

    return test


def _yelp_falls(_: Sequence[Run]) -> Finding:
    frame = prints.table("lambdas").query("dataset == 'yelp'").sort_values("component")
    rows = {key: group["lambda"].abs().to_numpy() for key, group in frame.groupby(["model", "layer"]) if len(group) > 1}
    against = [f"{model} layer {layer}" for (model, layer), row in rows.items() if not (np.diff(row) < 0).all()]
    said = f"by size, in {len(rows) - len(against)} of {len(rows)} rows" + (f"; not in {', '.join(against)}" if against else "")
    return Finding("fails" if against else "holds", said)


def _twitter_lambda(_: Sequence[Run]) -> Finding:
    lambdas = prints.table("lambdas").query("dataset == 'twitter_financial' and layer == 1")
    largest = lambdas.iloc[int(lambdas["lambda"].to_numpy().argmax())]
    rows = prints.table("classification").query("dataset == 'twitter_financial'").set_index("model")["accuracy_pct"]
    best = str(rows.astype(float).idxmax())
    found: Verdict = "holds" if largest["model"] == best else "fails"
    its = f"{largest['lambda']:.4f} is {largest['model']}'s ({rows[largest['model']]:.2f}%)"
    return Finding(found, f"{its}, the best is {best} ({rows[best]:.2f}%)")


def _auc(_: Sequence[Run]) -> Finding:
    frame = prints.table("classification")
    said, good = [], []
    for dataset, higher in (("imdb", "diff"), ("sst2", "diff"), ("yelp", "ndt"), ("twitter_financial", "ndt")):
        rows = frame[frame["dataset"] == dataset]
        ndt = rows[rows["family"] == "ndt"]
        best = ndt.iloc[int(ndt["accuracy_pct"].to_numpy(float).argmax())]
        dt = float(rows[rows["family"] == "diff"]["auc"].iloc[0])
        good.append((dt > best["auc"]) == (higher == "diff"))
        said.append(f"{dataset} {dt:.3f} against {best['auc']:.3f}")
    return Finding("holds" if all(good) else "fails", f"DT against the most accurate NDT: {', '.join(said)}")


def _added(_: Sequence[Run]) -> Finding:
    frame = prints.table("parameters")
    base = frame[frame["family"] == "vanilla"].set_index("dataset")["parameters_millions"].astype(float)
    ndt = frame[frame["family"] == "ndt"]
    added = ndt["parameters_millions"].astype(float) - ndt["dataset"].map(base)
    inside = ((added > 0.155) & (added < 0.235)).all()
    return Finding("holds" if inside else "fails", f"the table has {added.min():.2f} to {added.max():.2f} M more than vanilla")


def row(
    short: str, against: Reference, *said: tuple[str, str, str, Callable[[Sequence[Run]], Finding]], how: str = "", shows: str, figure: str
) -> tuple[Claim, ...]:
    """A row of the board."""
    return alike(short, against, DATASETS, *said, how=how, shows=shows, figure=figure)


PRINT: Reference = "its own tables"
PRINTED = (
    *row(
        "The best NDT leads by as much as said",
        PRINT,
        ("imdb", "The best NDT on IMDB leads vanilla by 1.57 and DT by 1.36 points", "section IV-B1",
         _printed_lead("imdb", "ndt-unit-2", 1.57, 1.36)),
        ("sst2", "The best NDT on SST-2 leads vanilla by 1.00 and DT by 0.32 points", "section IV-C1",
         _printed_lead("sst2", "ndt-unit-3", 1.00, 0.32)),
        ("yelp_full", "The best NDT on Yelp leads vanilla by 0.09 and DT by 0.32 points", "section IV-D1",
         _printed_lead("yelp", "ndt-symmetric-3", 0.09, 0.32)),
        ("twitter_financial", "The best NDT on Twitter leads vanilla by 1.34 and DT by 1.00 points", "section IV-E1",
         _printed_lead("twitter_financial", "ndt-free-4", 1.34, 1.00)),
        shows="results",
        figure="accuracy-beside-print",
    ),
    *row(
        "As many variants are above DT as said",
        PRINT,
        ("imdb", "11 of 12 NDT variants are above DT on IMDB", "section IV-B1", _beats("imdb", 11)),
        ("sst2", "6 of 12 NDT variants are above DT on SST-2", "section IV-C1", _beats("sst2", 6)),
        ("twitter_financial", "8 of 12 NDT variants are above DT on Twitter", "section IV-E1", _beats("twitter_financial", 8)),
        shows="results",
        figure="accuracy-beside-print",
    ),
    *row(
        "NDT's spread is narrower than on IMDB",
        PRINT,
        ("twitter_financial", "NDT's spread on Twitter is narrower than on IMDB", "section IV-E1", _spreads),
        shows="results",
        figure="accuracy-grid",
    ),
    *row(
        "All NDT variants lie within 0.6 points",
        PRINT,
        ("yelp_full", "On Yelp all NDT variants lie within 0.6 points", "section IV-D1", _yelp),
        shows="results",
        figure="accuracy-grid",
    ),
    *row(
        "λ grows from layer 1 to layer 2",
        PRINT,
        ("imdb", "On IMDB unbounded lambdas grow from layer 1 to layer 2", "section IV-B2", _grows("imdb")),
        ("", "Lambdas grow from layer 1 to layer 2 on every data set", "section IV-H2", _grows()),
        shows="lambda",
        figure="lambda-grid",
    ),
    *row(
        "λ falls with the component's index",
        PRINT,
        ("", "Lambda falls with the component index in every configuration", "sections IV-B2 to IV-D2", _falls),
        ("yelp_full", "On Yelp lambda falls with the component index in every configuration", "section IV-D2", _yelp_falls),
        shows="lambda",
        figure="lambda-grid",
    ),
    *row(
        "λ under [−1,1] is negative, in the range said",
        PRINT,
        ("imdb", "Under [−1,1] lambdas on IMDB are negative, from −0.2001 to −0.0575", "section IV-B2",
         _negative("imdb", -0.2001, -0.0575)),
        ("yelp_full", "Under [−1,1] lambdas on Yelp are negative, from −0.2003 to −0.0468", "section IV-D2",
         _negative("yelp", -0.2003, -0.0468)),
        ("twitter_financial", "Under [−1,1] lambdas on Twitter are negative, from −0.2053 to −0.0593", "section IV-E2",
         _negative("twitter_financial", -0.2053, -0.0593)),
        shows="lambda",
        figure="lambda-grid",
    ),
    *row(
        "The largest λ of layer 1 is the best model's",
        PRINT,
        ("twitter_financial", "On Twitter the largest layer-1 lambda is the best configuration's", "section IV-E2", _twitter_lambda),
        shows="lambda",
        figure="lambda-grid",
    ),
    *row(
        "DT or NDT has the higher AUC, as said",
        PRINT,
        ("", "DT has the higher AUC on IMDB and SST-2, the best NDT on Yelp and Twitter", "section IV-G2", _auc),
        shows="roc",
        figure="roc-panels",
    ),
    *row(
        "Silhouette and accuracy go together",
        PRINT,
        ("", "Silhouette and accuracy go together on the binary tasks", "section IV-F", _together),
        shows="results",
        figure="accuracy-beside-print",
        how="Spearman's rank correlation over the printed configurations",
    ),
    *row(
        "NDT adds 0.16 to 0.23 M parameters",
        PRINT,
        ("", "NDT adds 0.16 to 0.23 M parameters to vanilla", "section IV-H2", _added),
        shows="cost",
        figure="cost",
    ),
)  # fmt: skip
