"""The same bytes to Apache Kafka and to streamlog, and the answers held against each other."""
