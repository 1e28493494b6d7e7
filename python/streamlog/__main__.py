"""Entry point of the ``streamlog`` command, which is the Rust command line in the native module.

Pipelines run in Python. The Rust command line declares their subcommands too, so that help,
completion and usage errors are the same for every command.
"""

import sys

from streamlog._core import main as run
from streamlog_command import restore_ctrl_c


def main(*words: str) -> int:
    """Runs the command with `words` and this process's arguments, and returns the exit code."""
    # The command line handles Ctrl-C itself; Python's handler would raise during shutdown.
    restore_ctrl_c()
    arguments = [*words, *sys.argv[1:]]
    match arguments:
        case ["pipeline", "run" | "validate" | "plan" as verb, job] if not job.startswith("-"):
            from streamlog.spark.pipeline import command

            return command.main(verb, job)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
