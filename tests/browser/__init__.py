"""A person at a real Chromium; a package, so that its files share one browser and one app."""
