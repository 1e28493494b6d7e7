"""A broker stops promptly with clients connected, and saves its state."""

import time

import streamlog
from py.support.broker import BrokerProcess
from py.support.ledger import Slot, faults
from py.support.load import ALL, IDEMPOTENT, ONE, Load, Reader, Sender

AT_ONCE = 10.0
"""A limit in seconds; on an idle machine it takes a fraction of a second."""

SLOTS: list[Slot] = [("stopped", partition) for partition in range(4)]

CONNECTIONS = 50


def test_a_stop_under_load_is_quick_and_clean(broker: BrokerProcess) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic("stopped", partitions=len(SLOTS))
    kinds = [IDEMPOTENT, ALL, ONE]
    # Each client has a connection for requests and one for its records.
    senders = [
        Sender(f"sender-{number}", broker.address, SLOTS, kinds[number % 3]) for number in range(15)
    ]
    readers = [Reader(f"reader-{number}", broker.address, SLOTS) for number in range(10)]
    assert 2 * (len(senders) + len(readers)) >= CONNECTIONS
    load = Load(senders, readers)
    for _ in range(2):
        time.sleep(1)
        load.check()
        begin = time.monotonic()
        assert broker.stop() == 0
        seconds = time.monotonic() - begin
        print(f"{seconds:.2f} s")
        assert seconds < AT_ONCE, f"{seconds:.1f} s"
        assert (broker.data_dir / "clean-stop").is_file()
        broker.start()
        assert "was stopped in order" in broker.log()
        assert "was not stopped in order" not in broker.log()
    log = load.finish(broker.address)
    assert list(faults(log, load.account(), load.witnesses())) == []
