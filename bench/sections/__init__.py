"""Sections of the table printed by `make bench`: each yields rows with their gates."""
