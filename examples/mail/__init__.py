"""Prices from mails: independent commands connected by topics."""
