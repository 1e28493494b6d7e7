"""The peers, each in a file of its own."""

from study.peers.activemq import ActiveMq
from study.peers.crabka import Crabka
from study.peers.kafka import Kafka
from study.peers.nats import Nats
from study.peers.peer import Peer
from study.peers.rabbitmq import RabbitMq
from study.peers.redis import Redis
from study.peers.ruler import Ruler
from study.peers.streamlog import Streamlog

__all__ = ["PEERS", "Peer"]

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Ruler(),
        Streamlog(),
        Kafka(),
        RabbitMq("classic"),
        RabbitMq("quorum"),
        RabbitMq("stream"),
        ActiveMq(),
        Nats(),
        Redis(),
        Crabka(),
    )
}
