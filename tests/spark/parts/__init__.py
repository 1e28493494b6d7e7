"""Parts of the reading side, tested without a Spark session."""
