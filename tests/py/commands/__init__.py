"""The command line, run by users and by shells through the package."""
