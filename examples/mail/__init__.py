"""Prices out of mails: an inlet, a parser and a pipeline around topics, each a command of its own."""
