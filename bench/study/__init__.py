"""`make study`: streamlog beside its peers, measured one after another on the same machine."""
