"""Faults of three brokers under load, and the proof that they lose nothing."""
