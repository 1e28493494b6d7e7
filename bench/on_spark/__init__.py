"""Reading topics with Spark: beside Spark's own ceiling, beside Kafka's connector, and at rest."""
