"""The sections of the table that `make bench` prints: each yields rows with their gates."""
