"""Tests of the package, and of the broker through clients of others."""
