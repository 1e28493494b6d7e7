"""Parts of the reading side by themselves, without a session of Spark."""
