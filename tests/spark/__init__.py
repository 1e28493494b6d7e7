"""Tests of the data source, the sink and the functions on Spark."""
