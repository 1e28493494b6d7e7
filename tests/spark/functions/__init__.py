"""The functions from DataFrames to DataFrames."""
