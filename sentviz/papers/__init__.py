"""The papers: everything of one stands in one folder."""
