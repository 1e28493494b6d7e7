"""Arrow record batches of what is read."""
