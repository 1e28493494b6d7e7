"""Tests of the writing side of ``format("streamlog")``."""
