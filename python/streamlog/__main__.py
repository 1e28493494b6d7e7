"""The ``streamlog`` command, which is the Rust command line in the native module.

Pipelines run in Python. Rust knows their words too, so that help, completion and complaints about
wrong usage are those of every command.
"""

# What `signal` is made of, without the enums that would cost a command its quick start.
import _signal as signal  # type: ignore[import-not-found]
import sys

from streamlog._core import main as run


def main(*words: str) -> int:
    """Runs these words and the arguments of this process, and returns the exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # The command line listens to Ctrl-C itself; Python's handler would raise on the way out.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = [*words, *sys.argv[1:]]
    match arguments:
        case ["pipeline", "run" | "validate" | "plan" as verb, job] if not job.startswith("-"):
            from streamlog.spark.pipeline import command

            return command.main(verb, job)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
