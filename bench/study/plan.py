"""The scales of a study: the amount of work in each."""

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from study.errors import StudyError
from study.peers import PEERS, Peer

ScaleName: TypeAlias = Literal["tiny", "quick", "default", "full"]
GIB = 1 << 30


@dataclass(frozen=True)
class Scale:
    """The amount of work of each row."""

    name: ScaleName
    rounds: int
    minutes: float | None
    """No further round begins if it would not end within this time."""
    paper_records: int
    records: int
    """Records of the rows beyond the paper's experiment."""
    seconds: float
    """The longest time of a measurement; a slow peer does less work in it."""
    latency_seconds: float
    idle_seconds: float
    sizes: tuple[int, ...]
    partitions: tuple[int, ...]

    @property
    def is_synced(self) -> bool:
        """True if memory is touched and dirty pages are written before each measurement.

        A tiny study tests the harness, and is not to be held up by what others write.
        """
        return self.name != "tiny"

    @property
    def room(self) -> int:
        """The bytes that the data of a peer takes at most."""
        return 2 * GIB + 300 * (6 * self.paper_records + 12 * self.records)

    def as_json(self) -> dict[str, object]:
        """Its JSON form."""
        return asdict(self)


SCALES: dict[ScaleName, Scale] = {
    scale.name: scale
    for scale in (
        Scale("tiny", 1, None, 3_000, 3_000, 5, 0.3, 0.1, (1000,), (10,)),
        Scale("quick", 3, 9.5, 100_000, 100_000, 3, 1, 0.5, (), ()),
        Scale(
            "default",
            5,
            115,
            1_000_000,
            500_000,
            15,
            5,
            3,
            (10, 1_000, 10_000, 100_000, 1_000_000),
            (10, 100, 1_000),
        ),
        Scale(
            "full",
            7,
            None,
            10_000_000,
            5_000_000,
            60,
            30,
            10,
            (10, 1_000, 10_000, 100_000, 1_000_000),
            (10, 100, 1_000, 10_000),
        ),
    )
}


def chosen_peers(words: str) -> list[Peer]:
    """Returns the peers of a list such as `kafka,nats`, or all; `rabbitmq` stands for three."""
    names = [word for word in words.replace(",", " ").split() if word]
    if not names:
        return list(PEERS.values())
    unknown = [name for name in names if not any(_matches(peer, name) for peer in PEERS)]
    if unknown:
        raise StudyError(f"no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    # Everything is compared with streamlog.
    names.append("streamlog")
    return [peer for key, peer in PEERS.items() if any(_matches(key, wanted) for wanted in names)]


def _matches(peer: str, wanted: str) -> bool:
    return peer == wanted or peer.startswith(f"{wanted}-")
