"""Orders are enriched with what is known of their customer, in batches."""
