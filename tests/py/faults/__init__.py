"""The Python tests: brokers that are killed, stopped, watched."""
