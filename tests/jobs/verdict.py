"""The end of a run: what has failed and how to repeat it, how long each job took, and the sum."""

import shlex
import subprocess
from dataclasses import dataclass
from typing import Final

from jobs.failures import Failure, failures, last_lines, passes
from jobs.scheduler import Outcome, log
from jobs.table import Job

UNSTABLE_MAX: Final = 3
"""The number of unstable tests with which a run still passes."""
_REPEATS = 2
_REPEAT_MINUTES = 5


@dataclass(frozen=True)
class Finding:
    """A failed test, or a job that failed without naming a test."""

    job: Job
    failure: Failure
    is_unstable: bool = False
    """True if the test has passed when it was repeated."""

    @property
    def repeat(self) -> str:
        """The command that repeats exactly this."""
        test = f" TEST={shlex.quote(self.failure.test)}" if self.failure.test else ""
        return f"make {self.job.name}{test}"


def findings(outcomes: dict[Job, Outcome]) -> list[Finding]:
    """Returns what has failed, in the order in which it ended."""
    found = []
    for job, outcome in outcomes.items():
        if outcome.passed or not outcome.seconds:
            continue
        text = log(job).read_text(errors="replace")
        named = failures(text) or [Failure("", last_lines(text))]
        found += [Finding(job, failure) for failure in named]
    return found


def repeated(found: list[Finding]) -> list[Finding]:
    """Returns the findings after each failed test that may fail by chance was run again.

    Where many tests have failed it was not by chance, and none is repeated.
    """
    if len(found) > UNSTABLE_MAX:
        return found
    return [
        Finding(finding.job, finding.failure, finding.job.unsteady and _passes(finding))
        for finding in found
    ]


def _passes(finding: Finding) -> bool:
    if not finding.failure.test:
        return False
    for number in range(_REPEATS):
        print(f"repeats, {number + 1} of {_REPEATS}: {finding.repeat}", flush=True)
        command = ["timeout", f"{_REPEAT_MINUTES}m", "bash", "-c", finding.repeat]
        with log(finding.job).with_suffix(".repeats.log").open("ab") as output:
            if subprocess.run(command, stdout=output, stderr=output, check=False).returncode:
                return False
    return True


def report(outcomes: dict[Job, Outcome], found: list[Finding]) -> bool:
    """Prints the end of a run. Returns true if it has passed."""
    for finding in found:
        _show(finding, outcomes[finding.job])
    print(f"\n{'job':<16} {'seconds':>8} {'of cores':>8}")
    for job, outcome in outcomes.items():
        words = "" if outcome.passed else f"  {outcome.reason}"
        print(f"{job.name:<16} {outcome.seconds:8.0f} {outcome.core_seconds:8.0f}{words}")
    total = sum(outcome.core_seconds for outcome in outcomes.values())
    print(f"{'all':<16} {'':8} {total:8.0f}")
    failed = [finding for finding in found if not finding.is_unstable]
    unstable = [finding for finding in found if finding.is_unstable]
    for finding in unstable:
        print(f"unstable: {finding.failure.test}")
    passed = sum(
        passes(log(job).read_text(errors="replace")) for job in outcomes if log(job).exists()
    )
    print(f"{passed + len(unstable)} passed, {len(failed)} failed")
    return not failed and len(unstable) <= UNSTABLE_MAX


def _show(finding: Finding, outcome: Outcome) -> None:
    state = "unstable" if finding.is_unstable else "failed"
    print(
        f"\n=== {finding.job.name} {outcome.reason}: {finding.failure.test or 'no test is named'}"
    )
    print(finding.failure.output)
    print(f"=== {state}; repeat it by: {finding.repeat}")
    print(f"=== all output: {log(finding.job)}")
