"""Prices become a table of five-minute windows, and a picture."""
