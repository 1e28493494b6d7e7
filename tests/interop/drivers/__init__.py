"""One small program for each client; all speak the line protocol of the README beside this."""
