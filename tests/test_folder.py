"""A damaged folder of a model hides no other one, and the rule that chooses the run for a language."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from app.focus import Focus
from sentviz.cli import main
from sentviz.cli.process import run_apart
from sentviz.errors import SentvizError
from sentviz.models.folder import is_model_folder, look_at, model_folders
from sentviz.runs import releases
from sentviz.runs.catalog import best_run, best_to_fetch, is_mixture
from sentviz.runs.configs import Capabilities
from sentviz.runs.releases import Packed
from tests.kit import refused

BERT = {"model_type": "bert", "num_hidden_layers": 3, "id2label": {"0": "bad", "1": "good"}}
BERT |= {"architectures": ["BertForSequenceClassification"]}
DEEP = "[" * 20_000 + "]" * 20_000
ODD: dict[str, bytes] = {
    **{f"architectures {value!r}": json.dumps(BERT | {"architectures": value}).encode() for value in (5, {"a": 1})},
    **{f"id2label {value!r}": json.dumps(BERT | {"id2label": value}).encode() for value in (5, ["a", "b"])},
    **{f"model_type {value!r}": json.dumps(BERT | {"model_type": value}).encode() for value in (None, ["bert"], "x" * 100_000)},
    **{f"num_labels {value!r}": json.dumps({"model_type": "bert", "num_labels": value}).encode() for value in ("2", True, 10**300)},
    "a number without end": b'{"model_type": "bert", "num_hidden_layers": ' + b"9" * 5_000 + b"}",
    "a label number without end": json.dumps(BERT | {"id2label": {"9" * 5_000: "a", "1": "b"}}).encode(),
    "empty": b"",
    "deep": f'{{"model_type": "bert", "more": {DEEP}}}'.encode(),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(BERT).encode(),
    "too large": json.dumps(BERT | {"more": "x" * (2 << 20)}).encode(),
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another architecture": ({"model_type": "albert"}, "of the kind 'albert', which cannot be read"),
    "one output": ({"id2label": {"0": "LABEL_0"}}, "has one output, a score"),
    "several labels at once": ({"problem_type": "multi_label_classification"}, "trained for multi label classification"),
    "a number": ({"problem_type": "regression"}, "trained for regression"),
    "sigmoids": ({"sentence_transformers": {"activation_fn": "torch.nn.Sigmoid"}}, "with a sigmoid for each label"),
    "code": ({"auto_map": {"AutoModel": "own.Own"}}, "needs code of its repository"),
    "a decoder": ({"is_decoder": True}, "is a decoder"),
    "no head": ({"architectures": ["BertModel"]}, "has no classification head"),
}


def written(folder: Path, config: bytes | dict[str, Any], files: tuple[str, ...] = ("model.safetensors", "tokenizer.json")) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())
    for file in files:
        (folder / file).touch()
    return folder


def is_sentence(text: str) -> bool:
    return text.endswith(".") and "\n" not in text and len(text) < 600


@pytest.mark.parametrize("how", ODD)
def test_a_damaged_folder_is_its_own_sentence_and_the_others_are_listed(how: str, tmp_path: Path) -> None:
    folder, good = written(tmp_path / "all" / "damaged", ODD[how]), written(tmp_path / "all" / "good", BERT)
    assert model_folders(tmp_path / "all") in ([folder, good], [good])
    if folder in model_folders(tmp_path / "all"):
        look = look_at(folder)
        assert is_sentence(look.no_run) and look.no_run.startswith("damaged") and len(str(look)) < 1_000
    assert look_at(good).no_run == ""
    refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
    assert refused.exit_code == 1 and refused.output.startswith("Error: ") and is_sentence(refused.output.strip())


def test_odd_folders_hide_no_other_and_encoders_are_looked_at(tmp_path: Path) -> None:
    good = written(tmp_path / "good", BERT)
    (tmp_path / "file.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "odd \udcff").mkdir()
    written(tmp_path / "run", {"format": 2, "model_type": "bert"})
    (written(tmp_path / "pipe", b"") / "config.json").unlink()
    os.mkfifo(tmp_path / "pipe" / "config.json")
    assert model_folders(tmp_path) == [good] and model_folders(tmp_path / "nowhere") == [] == model_folders(tmp_path / "file.txt")
    assert is_model_folder(good) and not is_model_folder(tmp_path / "run")
    folder = tmp_path / "sentences"
    written(folder / "0_Transformer", BERT | {"architectures": ["BertModel"]})
    (folder / "model_head.safetensors").touch()
    (folder / "modules.json").write_text(json.dumps([{"path": "0_Transformer"}]))
    assert look_at(folder).no_run == ""
    (folder / "model_head.safetensors").rename(folder / "model_head.pkl")
    assert "has its classifier in model_head.pkl, a pickle" in look_at(folder).no_run
    written(tmp_path / "outside", BERT)
    (folder / "modules.json").write_text(json.dumps([{"path": "../outside"}]))
    assert "of the kind 'unknown'" in look_at(folder).no_run
    config = tmp_path / "config.json"
    kind = '"model_type": "bert", "num_hidden_layers": 2, "architectures": ["%s"]'
    config.write_text('{%s, "id2label": {"10": "k", "2": "c"}}' % (kind % "BertForSequenceClassification"))
    assert look_at(tmp_path).classes == ("c", "k") and look_at(tmp_path).layers == 2 and not look_at(tmp_path).is_unnamed
    config.write_text("{%s}" % (kind % "BertForSequenceClassification"))
    assert look_at(tmp_path).is_unnamed and len(look_at(tmp_path).classes) == 2
    config.write_text("{%s}" % (kind % "BertModel"))
    assert look_at(tmp_path).classes == () and is_model_folder(tmp_path)
    for wrong in ("[]", "{", '{"format": 1, "model_type": "bert"}', "[" * 9_999):
        config.write_text(wrong)
        assert not is_model_folder(tmp_path)


@pytest.mark.parametrize("how", REFUSED)
def test_the_look_refuses_with_the_sentence_of_the_loader(how: str, tmp_path: Path) -> None:
    settings, why = REFUSED[how]
    folder = written(tmp_path / "theirs", BERT | settings)
    look = look_at(folder)
    assert why in look.no_run and is_sentence(look.no_run)
    if how != "no head":  # The loader finds the empty files first.
        refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
        assert refused.output == f"Error: {look.no_run}\n"


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (("pytorch_model.bin", "tokenizer.json"), "has pickled weights only"),
        (("tokenizer.json",), "has no weights: model.safetensors is missing"),
        (("model.safetensors",), "has no tokenizer"),
    ],
)
def test_missing_files_are_refused_with_the_sentence_of_the_loader(files: tuple[str, ...], why: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "theirs", BERT, files)
    refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
    assert why in look_at(folder).no_run and refused.output == f"Error: {look_at(folder).no_run}\n"


def test_a_failing_command_gives_its_sentence() -> None:
    refused(SentvizError, r"^There is no data set 'nothing'", run_apart, ["data", "verify", "nothing"], print)


class Stub:
    def __init__(self, name: str, dataset: str, accuracy: float, **changes: Any) -> None:
        self.name, self.config, self.accuracy = name, {"data": {"name": dataset}}, accuracy
        self.labels = changes.get("labels", ("negative", "positive"))
        self.has_weights = changes.get("weights", True)
        self.capabilities, self.metrics = Capabilities(2, 2, 1, maps=changes.get("maps", True)), self._metrics

    def _metrics(self) -> dict[str, Any]:
        return {"test": {"accuracy": {"value": self.accuracy}}}


def best(spoken: str, *stubs: Stub) -> str:
    return best_run(stubs, spoken)  # type: ignore[arg-type]


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the index name a few runs, one of them on a base."""
    sizes = {"english/mpnet": 4, "english/ndt-unit-2": 3, "sst2/vanilla": 9, "korean/e5": 4, "nsmc/cls": 7, "question_pair/cls": 8}
    sizes |= {"english/cnn": 2, "sst5_trees/sentiformer": 5, "bases/e5": 20}
    needed = {"korean/e5": "bases/e5"}
    known = {name: Packed(name, "0" * 12, size * 1_000_000, "0" * 64, needed.get(name, "")) for name, size in sizes.items()}
    monkeypatch.setattr(releases, "index", lambda: known)


@pytest.mark.usefixtures("indexed")
def test_the_best_run_is_chosen_fetched_and_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    today, teacher = Stub("english/ndt-unit-2", "english", 0.84), Stub("english/mpnet", "english_balanced", 0.92)
    single, korean = Stub("sst2/vanilla", "sst2", 0.99), Stub("nsmc/cls", "nsmc", 0.85)
    assert best("en", single, today, korean) == "english/ndt-unit-2"
    assert best("en", teacher, single, today, korean) == best("en", today, teacher) == "english/mpnet"
    assert best("en", single, korean) == "sst2/vanilla"
    assert best("ko", teacher, korean) == "nsmc/cls" and best("ko", korean, Stub("korean/e5", "korean", 0.8)) == "korean/e5"
    assert best("ko", teacher) == best("en") == ""
    assert not best("en", Stub("mine/best", "english", 1.0))
    assert not best("en", Stub("english/mpnet", "english_balanced", 1.0, weights=False))
    assert not best("en", Stub("english/cnn", "english", 1.0, maps=False))
    assert not best("ko", Stub("question_pair/cls", "question_pair", 1.0))
    assert not best("en", Stub("sst5_trees/sentiformer", "sst5_trees", 1.0, labels=("objective", "subjective")))
    default, former = "english/mpnet", "english/ndt-unit-2"
    names = [former, default, "nsmc/cls"]
    focus, _ = Focus.parse({}, names, (), default)
    assert focus.run == default and "run" not in focus.query(default)
    for run in (former, "nsmc/cls"):
        query = focus.with_(run=run).query(default)
        assert query["run"] == run and Focus.parse(query, names, (), default)[0].run == run
    assert Focus.parse({}, names, ())[0].run == former and Focus.parse({}, [], ())[0].run == ""
    assert is_mixture("korean") and not is_mixture("nsmc") and not is_mixture("nothing")
    assert best_to_fetch("ko") == ("korean/e5", 24_000_000) and best_to_fetch("en") == ("english/mpnet", 4_000_000)
    assert best_to_fetch("") == ("", 0)
    monkeypatch.setattr("sentviz.runs.store.runs", dict)
    done = CliRunner().invoke(main, ["explain", "나쁘지 않은 영화"])
    assert done.exit_code == 2 and "`sentviz runs get korean/e5` (24 MB) installs one." in done.output
