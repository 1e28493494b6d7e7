"""Work queues: messages that are tried again later, or set aside, by way of topics of their own."""
