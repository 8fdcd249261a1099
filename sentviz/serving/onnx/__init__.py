"""Models as ONNX files: written, opened again as models, and what 8 bits cost them.

A folder holds `model.onnx`, `tokenizer.json` and `model.json`, which says all that whoever reads texts for it has to know; `docs/ONNX.md`
reads one without sentviz. Needs the packages of the extra `onnx`.
"""

from sentviz.serving.onnx.cost import cost
from sentviz.serving.onnx.folder import export
from sentviz.serving.onnx.session import load

__all__ = ["cost", "export", "load"]
