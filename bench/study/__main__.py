"""`python -m study`: measures streamlog beside its peers, and prints the tables."""

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from study import machine, report
from study.errors import StudyError
from study.installing import KAFKA, LOADS, ROOT, fetch, install_packages
from study.pages import publish
from study.peers import Peer
from study.plan import SCALES, Scale, chosen_peers
from study.results import Store
from study.rows import chosen_rows
from study.runner import Runner


def main() -> int:
    """Runs the study; returns 1 if a required peer or one of its measurements failed."""
    options = arguments()
    signal.signal(signal.SIGTERM, _interrupt)
    results = options.out / options.scale
    if options.publish:
        publish(json.loads((results / "results.json").read_text()))
        return 0
    scale = SCALES[options.scale]
    try:
        runner = prepare(scale, options, Store(results / "measurements"))
        if options.fresh:
            runner.store.clear()
        return measure(runner, results)
    except StudyError as error:
        print(f"study: {error}", file=sys.stderr)
        return 1


def prepare(scale: Scale, options: argparse.Namespace, store: Store) -> Runner:
    """Installs what the peers need, and returns the study."""
    peers = chosen_peers(options.peers)
    rows = chosen_rows(scale, options.rows)
    install(peers)
    missing = {peer.name: said for peer in peers if (said := peer.missing()) is not None}
    for peer in peers:
        if peer.is_required and peer.name in missing:
            raise StudyError(
                f"{peer.title} is required: {missing[peer.name]}; PEERS= without it leaves it out"
            )
    return Runner(scale, peers, rows, store, options.data, missing)


def install(peers: list[Peer]) -> None:
    """Installs Debian packages, and fetches jars."""
    install_packages(pair for peer in peers for pair in peer.packages)
    if any(peer.needs_java for peer in peers) or any("java" in peer.clients for peer in peers):
        fetch([LOADS])
    if any(peer.name == "kafka" for peer in peers):
        fetch([KAFKA])


def measure(runner: Runner, results: Path) -> int:
    """Measures, and writes what there is even if it is interrupted."""
    described = machine.describe(ROOT)
    began = time.strftime("%Y-%m-%d", time.gmtime())
    ended = False
    try:
        runner.run()
        ended = True
    except KeyboardInterrupt:
        print("study: interrupted; the results so far are kept as partial", file=sys.stderr)
        return 130
    finally:
        found = report.gather(runner, described, began, has_ended=ended)
        results.mkdir(parents=True, exist_ok=True)
        (results / "results.json").write_text(json.dumps(found, indent=1) + "\n")
        print("\n".join(report.markdown(found)))
    return 1 if report.failures(found) else 0


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="python -m study", description=__doc__)
    parser.add_argument("--scale", choices=SCALES, default="default")
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick")
    parser.add_argument("--peers", default="", help="such as kafka,nats; all when left out")
    parser.add_argument("--rows", default="", help="names of rows or families; all when left out")
    parser.add_argument("--fresh", action="store_true", help="forget the results so far")
    parser.add_argument("--publish", action="store_true", help="write the results into docs/")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "study", help="results")
    parser.add_argument(
        "--data", type=Path, default=ROOT / "target" / "study" / "data", help="of the peers"
    )
    return parser.parse_args()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
