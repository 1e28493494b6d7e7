"""Reads the prices out of mails: bodies and attachments become rows, and rows become quotes."""

VERSION = 1
"""Goes up when the same mail would be read otherwise."""
