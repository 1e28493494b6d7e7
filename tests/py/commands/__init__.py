"""The command line, as people and shells meet it through the package."""
