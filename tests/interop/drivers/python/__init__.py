"""Drivers of the clients for Python, and of what has a command line only."""
