"""Reads and writes of topics with Spark, compared with an upper bound and Kafka's connector."""
