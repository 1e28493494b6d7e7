"""Runs faults by seeds; each run appends a line to the ledger in `evidence`.

python -m faults --runs 20 --faults 1 --seconds 3600 killed-leader isolated-leader
python -m faults --runs 20 --client streamlog --topic compacted outage-with-cut-logs
"""

import argparse
import random
import time
import traceback

from faults.families import FAULTS
from faults.ledger import append, append_failure, write_page
from faults.run import run
from faults.topics import TopicKind


def main() -> None:
    """Runs what the command line asks for; the exit code is 1 if a run has failed."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("names", nargs="*", help="faults to choose from; all if omitted")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--runs", type=int, default=len(FAULTS))
    parser.add_argument("--faults", type=int, default=1, help="faults of a run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no run starts later")
    parser.add_argument("--client", choices=["confluent", "streamlog"], default="confluent")
    parser.add_argument(
        "--topic",
        type=TopicKind,
        choices=list(TopicKind),
        default=TopicKind.RECORD,
        help="the kind of the topic",
    )
    parser.add_argument("--page", action="store_true", help="only write the table of the ledger")
    arguments = parser.parse_args()
    if arguments.page:
        write_page()
        return
    names = arguments.names or list(FAULTS)
    begin, failed = time.monotonic(), 0
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        if time.monotonic() - begin > arguments.seconds:
            break
        # Every fault comes equally often; those that follow it in a run are chosen by the seed.
        choice = random.Random(seed)
        more = [choice.choice(names) for _ in range(arguments.faults - 1)]
        chosen = [FAULTS[name] for name in (names[seed % len(names)], *more)]
        print(f"seed {seed}: {', '.join(fault.name for fault in chosen)}", flush=True)
        try:
            result = run(chosen, seed, arguments.client, arguments.topic)
        except Exception as error:
            failed += 1
            traceback.print_exc()
            reason = str(error).splitlines()[0] if str(error) else repr(error)
            kind = arguments.topic
            append_failure(seed, arguments.client, kind, [fault.name for fault in chosen], reason)
            continue
        append(result)
        print(f"  {result.acknowledged} acknowledged; {'; '.join(result.effects)}", flush=True)
        if result.anomalies:
            failed += 1
            print(f"  {result.anomalies[:5]}, kept in {result.kept}", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
