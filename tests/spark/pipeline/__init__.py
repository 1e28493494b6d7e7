"""`streamlog pipeline`."""
