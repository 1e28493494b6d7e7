"""Services written against other clients, and the same line by line with streamlog."""
