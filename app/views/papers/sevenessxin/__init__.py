"""Sections of the page of 7ess-Xin."""
