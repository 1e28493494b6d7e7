"""Helpers of the Python tests: broker processes, and peers that talk to them."""
