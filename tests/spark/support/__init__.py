"""What tests on Spark stand on when Spark itself is to die."""
