"""The load generators: a native one for Kafka's protocol, and one in Java for every peer."""

from study.clients.client import Client, Consume, Figures, Latency, Produce, Target
from study.clients.java import JavaClient
from study.clients.load import LoadClient
from study.peers.peer import ClientName

__all__ = ["CLIENTS", "Client", "Consume", "Figures", "Latency", "Produce", "Target"]

CLIENTS: dict[ClientName, Client] = {"load": LoadClient(), "java": JavaClient()}
