"""The cluster of `make cluster` on a machine where other servers run."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.__main__ import processes, zookeeper_port
from cluster.zookeeper import any_port, configured_port, is_free, write_config


def test_a_port_that_another_server_has_is_not_taken_for_zookeepers(tmp_path: Path) -> None:
    config = tmp_path / "zookeeper.cfg"
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        write_config(config, tmp_path / "data", taken)
        chosen = zookeeper_port(tmp_path)
        assert chosen != taken
        assert is_free(chosen)
    write_config(config, tmp_path / "data", chosen)
    assert configured_port(config) == zookeeper_port(tmp_path) == chosen, "the next start keeps it"


def test_the_port_is_not_changed_while_brokers_use_it(tmp_path: Path) -> None:
    port = any_port()
    write_config(tmp_path / "zookeeper.cfg", tmp_path / "data", port)
    broker = processes(tmp_path)[1]
    wait = [sys.executable, "-c", "print(flush=True); input()", broker.command[-1]]
    with subprocess.Popen(wait, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stand_in:
        assert stand_in.stdout is not None
        _ = stand_in.stdout.readline()
        broker.log.with_suffix(".pid").write_text(str(stand_in.pid))
        assert broker.is_running
        assert zookeeper_port(tmp_path) == port
        with (
            socket.create_server(("127.0.0.1", port)),
            pytest.raises(SystemExit, match=f"port {port}.*make cluster-stop"),
        ):
            zookeeper_port(tmp_path)
        _ = stand_in.communicate(b"\n")
    assert not broker.is_running
