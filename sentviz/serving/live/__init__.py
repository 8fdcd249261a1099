"""Pages that compute: one file with a model, its tokenizer and the linked picture, which needs no server and no network."""

from sentviz.serving.live.page import live_page

__all__ = ["live_page"]
