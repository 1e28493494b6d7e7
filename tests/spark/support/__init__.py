"""What the tests on Spark are made of."""
