"""What topics may be set to do with their records, as clients see it."""
