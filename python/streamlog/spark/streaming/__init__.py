"""Reading topics as streams."""
