"""Seconds and steps of the page "Five tasks from start to end", and of other packages for one of them."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.docs import ROOT

ROWS = 50_000
TEXT = "What a warm, clever garden!"
LINES = {  # package: from the folder of a model to a picture that gives a reason for one prediction
    "sentviz": f"""
import sentviz
sentviz.save(sentviz.draw(sentviz.load("my-model"), "strip", text="{TEXT}"), "why.html")
""",
    "interpkit": f"""
import interpkit
interpkit.load("my-model").attribute("{TEXT}", save="why.png")
""",
    "interpreto": f"""
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from interpreto import IntegratedGradients, plot_attributions
model, tokenizer = AutoModelForSequenceClassification.from_pretrained("my-model"), AutoTokenizer.from_pretrained("my-model")
plot_attributions(IntegratedGradients(model, tokenizer)("{TEXT}")[0])
""",
    "bertviz": f"""
from bertviz import head_view
from transformers import AutoModel, AutoTokenizer
tokenizer, model = AutoTokenizer.from_pretrained("my-model"), AutoModel.from_pretrained("my-model", attn_implementation="eager")
inputs = tokenizer("{TEXT}", return_tensors="pt")
words, maps = tokenizer.convert_ids_to_tokens(inputs.input_ids[0]), model(**inputs, output_attentions=True).attentions
html = head_view(maps, words, html_action="return")
open("why.html", "w").write(html.data)
""",
    "ferret": f"""
from ferret import Benchmark
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast
tokenizer, model = PreTrainedTokenizerFast.from_pretrained("my-model"), AutoModelForSequenceClassification.from_pretrained("my-model")
bench = Benchmark(model, tokenizer)
bench.show_table(bench.explain("{TEXT}", target=1)).to_html("why.html")
""",
}


def measured(command: list[str], folder: Path) -> str:
    """Run a command in a folder; return its seconds of all cores, and on the clock."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"SENTVIZ_HOME": str(folder / "home")}
    if command[0] == sys.executable:
        environment |= {"PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    else:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    why = "" if done.returncode == 0 else f"  failed: {' '.join((done.stderr or done.stdout).split())[-160:]}"
    return f"{cpu:7.1f} s of one core, {time.perf_counter() - began:7.1f} s on the clock{why}"


def tasks() -> None:
    """Run each task of the page from the command line and in Python, in new processes, and print its steps and seconds."""
    import shlex

    from tests.docs import examples
    from tests.test_tasks import TASKS, write_files

    for task, words in TASKS.items():
        print(f"\n{task}")  # noqa: T201
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_files(folder, ROWS)
            (folder / "task.md").write_text(words, encoding="utf-8")
            for example in examples(folder / "task.md"):
                if example.language == "python":
                    lines = [line for line in example.code.splitlines() if line]
                    print(f"  {len(lines)} lines  {measured([sys.executable, '-c', example.code], folder)}")  # noqa: T201
                    continue
                for line in example.code.splitlines():
                    command = [sys.executable, "-m", "sentviz", *shlex.split(line)[1:]]
                    print(f"  1 command {measured(command, folder)}  {line}")  # noqa: T201


def peers() -> None:
    """Run the lines of each package on the same model. The others are in environments of their names below the folder SENTVIZ_PEERS."""
    from tests.foreign.models import saved

    places = Path(os.environ.get("SENTVIZ_PEERS", "")).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        saved(folder / "my-model", "bert", ("negative", "positive"))
        for package, code in LINES.items():
            python = Path(sys.executable) if package == "sentviz" else places / package / "bin" / "python"
            if not python.is_file():
                print(f"{package:<12}is not in {places}")  # noqa: T201
                continue
            listed = "import importlib.metadata as of; print(*(f'{d.name}={d.version}' for d in of.distributions()))"
            versions = subprocess.run([python, "-c", listed], capture_output=True, text=True).stdout
            version = re.search(rf"\b{package}(?:-xai)?=(\S+)", versions)
            steps = f"{version[1] if version else '':<9}{len(code.strip().splitlines())} lines"
            print(f"{package:<12}{steps}  {measured([str(python), '-c', code], folder)}")  # noqa: T201
