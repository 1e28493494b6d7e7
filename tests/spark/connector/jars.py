"""The Maven coordinates of Kafka's connector."""

JARS = {
    # The newest on Maven Central; built for Spark 4.2, it runs on 4.3.
    "org.apache.spark:spark-sql-kafka-0-10_2.13": "4.2.0",
    # The newest on Maven Central; the connector needs it for Kerberos tokens, which are not used.
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13": "4.0.0",
    "org.apache.kafka:kafka-clients": "3.9.2",
    "org.apache.commons:commons-pool2": "2.13.0",
}
"""The jars of the connector. They are listed explicitly because Maven Central lacks the versions of
some dependencies that the connector declares."""
