"""Streams with Kafka's connector: checkpoints, restarts, and deleted records."""

import json

import pytest
from pyspark.errors import StreamingQueryException

from spark.connector.tables import Copy, digest


def test_a_stream_resumes_from_its_checkpoint(copy: Copy) -> None:
    copy.make(2, 3)
    values = [b"%d" % number * 7 for number in range(3000)]
    for part in (values[:1000], values[1000:]):
        copy.publish(part)
        copy.run(maxOffsetsPerTrigger="700")
    assert digest(copy.values()) == digest(values)
    offsets = copy.folder / "offsets"
    assert len([file for file in offsets.iterdir() if file.name.isdigit()]) >= 5


def test_records_that_are_gone_end_a_stream_unless_it_may_lose_them(copy: Copy) -> None:
    copy.make(1, 1)
    values = [b"%d" % number for number in range(300)]
    copy.publish(values[:100])
    copy.run()
    copy.publish(values[100:])
    copy.client.admin.delete_records(copy.source.name, 0, before=200)
    # Spark's scheduler cannot deserialize an exception class that was loaded by ADD JAR.
    with pytest.raises(StreamingQueryException, match=r"UnknownReason|data may have been lost"):
        copy.run()
    assert digest(copy.values()) == digest(values[:100])
    copy.run(failOnDataLoss="false")
    assert digest(copy.values()) == digest(values[:100] + values[200:])


def test_a_stream_begins_where_its_offsets_say(copy: Copy) -> None:
    copy.make(2, 1)
    with copy.client.producer() as producer:
        for number in range(200):
            producer.send(copy.source.name, b"%d" % number, partition=number % 2)
    copy.run(startingOffsets=json.dumps({copy.source.name: {"0": 90, "1": -2}}))
    wanted = [number for number in range(200) if number % 2 or number >= 180]
    assert sorted(map(int, copy.values())) == wanted
