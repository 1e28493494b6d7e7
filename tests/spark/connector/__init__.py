"""Kafka's own connector for Spark with a streamlog broker."""
