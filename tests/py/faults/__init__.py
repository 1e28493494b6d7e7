"""Tests of brokers that are killed, stopped, or traced."""
