"""Ratios measured in one run; printed, never asserted. `python -m tests.benchmarks [name ...]`"""
