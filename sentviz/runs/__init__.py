"""Runs on disk, their configurations and presets, the papers that register them, and traces."""
