"""Comparison with references: trace replay, random layers, reports."""
