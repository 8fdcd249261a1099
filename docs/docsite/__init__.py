"""What the documentation site makes of the product: pages of its figures, verdicts, commands and costs."""
