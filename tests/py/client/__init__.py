"""Clients, producers and consumers in a user's program: names, events, mistakes."""
