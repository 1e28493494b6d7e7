"""The client on event loops."""
