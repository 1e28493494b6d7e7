"""Tests that run the examples of the README, the pages and the docstrings, and compare outputs."""
