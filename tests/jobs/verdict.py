"""The end of a run: what has failed and how to repeat it, how long each job took, and the sum."""

import shlex
import shutil
from dataclasses import dataclass, replace
from typing import Final

from jobs.failures import Failure, account_for_all, failures, passes
from jobs.logs import LOGS, read_log
from jobs.scheduler import Outcome, Scheduler
from jobs.table import Job

UNSTABLE_MAX: Final = 3
"""The number of unstable tests with which a run still passes."""
_REPEATS = 2
_REPEAT_MINUTES = 10
_LITTLE_SPACE = 1 << 30


@dataclass(frozen=True)
class Finding:
    """A failed test, or a job that failed for another reason."""

    job: Job
    failure: Failure
    is_unstable: bool = False
    """True if the test has passed when it was repeated."""

    @property
    def repeat(self) -> str:
        """The command that repeats exactly this."""
        words = [self.failure.seed, "make", self.job.name]
        if self.failure.test:
            words.append(f"TEST={shlex.quote(self.failure.test.replace('$', '$$'))}")
        return " ".join(word for word in words if word)


def findings(outcomes: dict[Job, Outcome]) -> list[Finding]:
    """Returns what has failed, in the order in which it ended."""
    found = []
    for job, outcome in outcomes.items():
        if outcome.passed or not outcome.was_run:
            continue
        text = read_log(job)
        named = failures(text)
        if outcome.timed_out or not account_for_all(named, text):
            named.append(Failure("", text))
        found += [Finding(job, failure) for failure in named]
    return found


def repeated(found: list[Finding]) -> list[Finding]:
    """Returns the findings after each failed test that may fail by chance was run again.

    Where much has failed it was not by chance, and nothing is repeated.
    """
    if len(found) > UNSTABLE_MAX:
        return found
    return [replace(finding, is_unstable=_passes(finding)) for finding in found]


def _passes(finding: Finding) -> bool:
    job, test = finding.job, finding.failure.test
    if not (job.unsteady and test):
        return False
    for attempt in range(1, _REPEATS + 1):
        print(f"repeats, {attempt} of {_REPEATS}: {finding.repeat}", flush=True)
        minutes = min(job.minutes, _REPEAT_MINUTES)
        alone = replace(job, test=test, attempt=attempt, minutes=minutes, needs=(), after=())
        scheduler = Scheduler([alone], job.cores)
        scheduler.run()
        if not scheduler.outcomes[alone].passed or passes(read_log(alone)) != 1:
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
    free = shutil.disk_usage(LOGS).free
    if free < _LITTLE_SPACE:
        print(f"only {free >> 20} MiB are free on the disk of {LOGS}")
    unstable = [finding for finding in found if finding.is_unstable]
    for finding in unstable:
        print(f"unstable: {finding.failure.test}")
    # Again, for those who see nothing but the last lines.
    for finding in found:
        if not finding.is_unstable:
            print(f"failed: {finding.repeat}: {finding.failure.reason}")
    failed = len(found) - len(unstable)
    not_run = sum(not outcome.was_run for outcome in outcomes.values())
    passed = sum(passes(read_log(job)) for job, outcome in outcomes.items() if outcome.was_run)
    # A job that was not run for another reason than a failure must not end as a success.
    if not_run and not failed:
        failed = not_run
    sums = f"{passed + len(unstable)} passed, {failed} failed"
    print(sums)
    (LOGS / "sum").write_text(f"{sums}\n")
    return not failed and len(unstable) <= UNSTABLE_MAX


def _show(finding: Finding, outcome: Outcome) -> None:
    state = "unstable" if finding.is_unstable else "failed"
    print(f"\n=== {finding.job.name} {outcome.reason}: {finding.failure.test or 'not by one test'}")
    print(finding.failure.output if finding.is_unstable else finding.failure.last_lines)
    print(f"=== {state}; repeat it by: {finding.repeat}")
    print(f"=== all output: {LOGS / finding.job.name}.log")
