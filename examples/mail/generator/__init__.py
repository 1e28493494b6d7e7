"""A realistic mailbox, generated from a seed, and a ledger of its true prices."""
