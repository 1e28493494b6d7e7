"""What the README, the pages and the docstrings show is done, and what they say comes of it."""
