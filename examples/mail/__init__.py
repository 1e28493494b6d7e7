"""Prices out of mails: commands around topics, each of which runs by itself."""
