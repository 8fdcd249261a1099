"""Sections of the page of the hardmax paper."""
