"""The earlier name of `sentviz.charts`, kept for one version."""

from sentviz import charts
from sentviz.charts import __all__ as __all__

__getattr__ = charts.__getattr__
