"""The pipeline: a table of five-minute windows, and a chart."""
