"""Sections of the page of SentiFormer."""
