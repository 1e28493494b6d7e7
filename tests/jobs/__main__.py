"""Runs the jobs of `make test`, or chosen ones and their needs: `python -m jobs [--ci] [NAME ...]`.

With `--ci` it also runs the jobs that only `.ci/run` has, and repeats a failed test that starts
processes. If it passes twice it is listed as unstable; a few such tests do not fail the run.
"""

import argparse
import os
import signal
import sys

from jobs import table, verdict
from jobs.logs import log_folder
from jobs.scheduler import Scheduler


def main() -> int:
    """Returns the exit status: 0 if all passed, 1 if not, 130 after Ctrl-C, 143 after SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m jobs", description=__doc__)
    parser.add_argument("--ci", action="store_true", help="with the jobs of .ci/run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a job to run with what it needs")
    options = parser.parse_args()
    try:
        jobs = table.chosen(table.read(), options.names, with_ci=options.ci)
    except KeyError as error:
        parser.error(f"no job is named {error}; tests/jobs/jobs.toml lists them")
    # A shell starts background jobs with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with log_folder():
        try:
            # Jobs wait now and then. With much more than the cores there are, tests run late.
            scheduler = Scheduler(jobs, (os.cpu_count() or 1) + 0.5)
            scheduler.run()
            found = verdict.findings(scheduler.outcomes)
            if options.ci:
                found = verdict.repeated(found)
        except KeyboardInterrupt:
            print("\ninterrupted; all jobs were ended", file=sys.stderr)
            return 128 + signal.SIGINT
        return 0 if verdict.report(scheduler.outcomes, found) else 1


if __name__ == "__main__":
    sys.exit(main())
