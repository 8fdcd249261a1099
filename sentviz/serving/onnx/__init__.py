"""Export models as ONNX files, open them again as models, and measure the accuracy of 8-bit graphs.

A folder holds `model.onnx`, `tokenizer.json` and `model.json`, which describes how to prepare texts. `docs/SERVING.md` shows how to use
a folder without sentviz. The extra `onnx` installs the packages.
"""

from sentviz.serving.onnx.folder import cost, export
from sentviz.serving.onnx.session import load

__all__ = ["cost", "export", "load"]
