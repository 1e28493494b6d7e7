"""Work queues: messages that are retried later, or rejected, through topics of their own."""
