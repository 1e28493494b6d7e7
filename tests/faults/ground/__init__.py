"""Three brokers, a ZooKeeper and a machine for clients, each in a network namespace."""
