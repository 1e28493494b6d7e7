"""The matrix: clients of others, each in a process of its own, against a real broker process."""
