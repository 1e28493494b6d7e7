"""The operations of clients and their results, as lines of JSON."""
