"""Both brokers, Kafka's message definitions, and what makes two answers the same."""
