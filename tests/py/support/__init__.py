"""What the Python tests share: real brokers as processes, and the peers that talk to them."""
