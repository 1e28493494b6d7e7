"""Validation and types of arguments."""
