"""Interactive views drawn in the browser, each also a page of its own without the app."""
