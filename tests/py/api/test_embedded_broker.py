"""A broker in the program's own process."""

import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

import streamlog


def test_a_broker_is_ready_when_it_is_created() -> None:
    with streamlog.Broker() as broker, broker.connect() as client:
        assert broker.address == broker.bootstrap == f"127.0.0.1:{broker.port}"
        client.producer().send("t", b"hi").result()
        with client.consumer("t") as consumer:
            assert next(consumer).value == b"hi"


def test_temporary_data_goes_with_the_broker() -> None:
    broker = streamlog.Broker()
    folder = broker.data_dir
    assert folder.is_dir()
    assert broker.is_running
    broker.close()
    broker.close()
    assert not broker.is_running
    assert not folder.exists()


def test_data_with_a_place_is_there_for_the_next_broker(tmp_path: Path) -> None:
    with streamlog.Broker(tmp_path) as broker, broker.connect() as client:
        client.producer().send("t", b"kept").result()
    with streamlog.Broker(data_dir=str(tmp_path)) as broker, broker.connect() as client:
        assert next(client.consumer("t")).value == b"kept"


def test_several_brokers_live_side_by_side() -> None:
    with streamlog.Broker() as one, streamlog.Broker() as other:
        one.connect().producer().send("t", b"one").result()
        other.connect().producer().send("t", b"other").result()
        assert next(one.connect().consumer("t")).value == b"one"
        assert next(other.connect().consumer("t")).value == b"other"


def test_settings_are_keywords_and_a_dict() -> None:
    config = {"default.replication.factor": 1}
    with streamlog.Broker(num_partitions=3, config=config) as broker, broker.connect() as client:
        client.producer().send("t", b"x").result()
        assert client.topic("t").partitions() == 3


def test_a_setting_that_is_invalid_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(streamlog.ConfigError, match=r"did you mean 'num\.partitions'"):
        streamlog.Broker(num_partition=3)
    with pytest.raises(streamlog.ConfigError, match=r"num_partitions: invalid value 'many'"):
        streamlog.Broker(num_partitions="many")
    with pytest.raises(streamlog.ConfigError, match="given twice"):
        streamlog.Broker(num_partitions=3, config={"num.partitions": 3})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(streamlog.StreamlogError, match=f"cannot listen on 127.0.0.1:{port}"):
            streamlog.Broker(listen=f"127.0.0.1:{port}")
    assert list(tmp_path.iterdir()) == []


def test_two_brokers_cannot_have_one_folder(tmp_path: Path) -> None:
    with (
        streamlog.Broker(tmp_path),
        pytest.raises(streamlog.StreamlogError, match=str(tmp_path)),
    ):
        streamlog.Broker(tmp_path)


def test_other_clients_can_use_it() -> None:
    with streamlog.Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("t", b"theirs")
        assert producer.flush(10) == 0
        assert next(broker.connect().consumer("t")).value == b"theirs"


def test_a_broker_that_nobody_closed_ends_with_the_program() -> None:
    script = (
        "import streamlog; broker = streamlog.Broker(); "
        "broker.connect().producer().send('t', b'x').result(); print(broker.data_dir)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert not Path(run.stdout.strip()).exists()
    assert run.stderr == ""


def test_a_forked_child_has_no_broker_and_does_not_take_its_parents() -> None:
    with streamlog.Broker() as broker:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                broker.close()
            except streamlog.ForkError:
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert broker.is_running
        assert broker.data_dir.is_dir()
        broker.connect().producer().send("t", b"x").result()


def test_a_broker_is_not_pickled() -> None:
    with streamlog.Broker() as broker, pytest.raises(TypeError, match="pickle"):
        pickle.dumps(broker)
