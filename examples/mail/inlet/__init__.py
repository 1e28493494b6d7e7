"""Mails become records, and leave the place where they were only after that."""
