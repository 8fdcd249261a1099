"""Verbs for strangers: over HTTP, and for agents."""
