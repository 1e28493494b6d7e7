"""Kafka's own connector for Spark, at a broker of streamlog."""
