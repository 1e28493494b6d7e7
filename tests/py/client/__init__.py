"""Clients, producers and consumers as a program of theirs meets them: names, events, mistakes."""
