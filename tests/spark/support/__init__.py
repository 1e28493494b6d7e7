"""Helpers of the tests on Spark."""
