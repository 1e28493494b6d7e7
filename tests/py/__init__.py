"""Tests of the package, and of the broker through third-party clients."""
