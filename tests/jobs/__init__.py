"""The jobs of `make test` and `.ci/run`: their table, their scheduler, and the verdict."""
