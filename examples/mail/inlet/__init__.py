"""The inlet: stores mails as records, and only then removes them from their source."""
