"""Sections of the page of NDT."""
