"""Reading topics, as tables and as streams."""
