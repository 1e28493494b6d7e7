"""The clients of a run: a process of its own, in the namespace of the clients."""
