"""Apache Kafka's own tools, Connect and Streams, unchanged, against a broker."""
