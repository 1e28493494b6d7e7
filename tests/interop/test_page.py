"""The compatibility page tells what the recorded results of the matrix say, and all of it."""

from interop.support.clients import Client, all_clients
from interop.support.page import PAGE, expected_cells, faults, render
from interop.support.results import WORKS, Results


def planted() -> tuple[list[Client], dict[str, Results]]:
    """Two clients, one of which cannot do something."""
    can = Client("can", "1", "python", "Python", ("can",))
    cannot = Client("cannot", "2", "go", "Go", ("cannot",), {"seek": "It only goes forward."})
    clients = [can, cannot]
    results = {
        client.name: Results(
            client.name,
            client.version,
            {cell: client.limit(cell) or WORKS for cell in expected_cells(client, clients)},
        )
        for client in clients
    }
    return clients, results


def test_the_page_is_what_the_results_say() -> None:
    clients = all_clients()
    results = {client.name: Results.read(client) for client in clients}
    assert list(faults(clients, results)) == []
    assert PAGE.read_text() == render(clients, results), "run `make compatibility`"


def test_the_page_tells_what_does_not_work_and_why() -> None:
    clients, results = planted()
    assert list(faults(clients, results)) == []
    page = render(clients, results)
    assert "| seek back and forth | yes | no |" in page
    assert "- **cannot**, seek back and forth: It only goes forward.\n" in page


def test_results_that_are_not_complete_are_found() -> None:
    clients, results = planted()
    del results["can"].cells["seek"]
    results["can"].cells["fly"] = WORKS
    results["cannot"].cells["seek"] = WORKS
    results["cannot"].version = "1"
    found = [fault.split(": ")[1].split(" for ")[0] for fault in faults(clients, results)]
    assert found == [
        "no results",
        "results",
        "results of version 1, not 2",
        "'seek' came out as 'works'",
    ]
