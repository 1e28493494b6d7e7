"""Reading Arrow record batches."""
