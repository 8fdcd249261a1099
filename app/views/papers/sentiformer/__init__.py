"""SentiFormer's page, a file for each of its parts."""

__all__ = ["TITLES"]

TITLES = {
    "results": "Table I",
    "parts": "Table II",
    "gates": "Gates",
    "speed": "Speed",
    "theory": "Theory",
    "failures": "Failures",
    "claims": "Claims",
    "items": "Every item",
}
