"""Runs a load until its standard input ends; says how much is acknowledged meanwhile.

It exits with 0 once every record has an outcome in the history.
"""

import importlib
import select
import sys

from faults.history.lines import Writer
from faults.load.plan import Plan
from faults.load.worker import Producing, Worker

MODULES = {"confluent": "faults.load.confluent", "streamlog": "faults.load.own"}
TOLD_SECONDS = 0.1


def main() -> None:
    """Runs the load of the command line."""
    plan = Plan.parsed()
    writer = Writer(plan.history)
    running: list[Worker] = importlib.import_module(MODULES[plan.client]).workers(plan, writer)
    for worker in running:
        worker.start()
    while not select.select([sys.stdin], [], [], TOLD_SECONDS)[0]:
        tell(running)
    # Readers go on while producers wait for their last acknowledgements.
    producers = [worker for worker in running if isinstance(worker, Producing)]
    others = [worker for worker in running if not isinstance(worker, Producing)]
    for group in (producers, others):
        for worker in group:
            worker.stopping.set()
        for worker in group:
            worker.finish()
    tell(running)
    writer.close()


def tell(running: list[Worker]) -> None:
    """Prints the number of acknowledged records, or raises the failure of a worker."""
    for worker in running:
        if worker.failure is not None:
            raise worker.failure
    print(sum(w.acknowledged for w in running if isinstance(w, Producing)), flush=True)


if __name__ == "__main__":
    main()
