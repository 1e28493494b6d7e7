"""Where Kafka's connector is found."""

JARS = {
    # The newest that Maven Central has; it was built for Spark 4.2 and runs on 4.3.
    "org.apache.spark:spark-sql-kafka-0-10_2.13": "4.2.0",
    # Of 4.0, the last one there: the connector asks it for tokens of Kerberos, which nobody uses.
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13": "4.0.0",
    "org.apache.kafka:kafka-clients": "3.9.2",
    "org.apache.commons:commons-pool2": "2.13.0",
}
"""What the connector consists of. Each is named, since not all of what it depends on can be had in
the version that it asks for."""
