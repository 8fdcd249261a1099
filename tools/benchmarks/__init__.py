"""Ratios measured in one run; printed, never asserted. `python -m tools.benchmarks [name ...]`"""
