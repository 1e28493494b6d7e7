"""Extraction of prices from mails: bodies and attachments become rows, and rows become quotes."""

VERSION = 1
"""Increased whenever the same mail would be read differently."""
