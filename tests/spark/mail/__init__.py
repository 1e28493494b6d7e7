"""Tests of the mail example, from the inlet to the report."""
