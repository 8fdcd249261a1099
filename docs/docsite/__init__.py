"""Generated parts of the documentation site: pages of figures, verdicts, commands and costs."""
