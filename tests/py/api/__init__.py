"""The classes of the package, each with a broker in the tests' process."""
