"""Tests of reading topics with Spark."""
