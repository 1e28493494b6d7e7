"""The entry point of the script ``streamlog``, outside the package to run before its import.

Importing ``streamlog`` takes most of the start of a command. If Ctrl-C were pressed meanwhile,
Python's handler would raise, and print a traceback.
"""

# Import the C module of `signal`: the enums of `signal` would slow down the start of every command.
import _signal as signal  # type: ignore[import-not-found]

__all__ = ["main", "restore_ctrl_c"]


def main() -> int:
    """Runs the command with this process's arguments, and returns the exit code."""
    restore_ctrl_c()
    from streamlog.__main__ import main as run

    return run()


def restore_ctrl_c() -> None:
    """Replaces Python's handler of Ctrl-C by the default: to end the process at once."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
