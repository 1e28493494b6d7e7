"""The compatibility page tells what the recorded results of the matrix say, and all of it."""

from interop.support.clients import Client
from interop.support.page import PAGE, expected_cells, faults, page, render
from interop.support.results import WORKS, Results
from interop.support.tools import Tool, all_tools, apache_version, expected, tool_faults, tool_rows


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
    assert PAGE.read_text() == page(), "run `make compatibility`"


def test_the_page_tells_what_does_not_work_and_why() -> None:
    clients, results = planted()
    assert list(faults(clients, results)) == []
    text = render(clients, results)
    assert "| seek back and forth | yes | no |" in text
    assert "- **cannot**, seek back and forth: It only goes forward.\n" in text


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


def test_a_tool_that_is_refused_says_why() -> None:
    tool = Tool("kafka-wings", "Wings", {"fly": "fly", "walk": "walk"}, {"fly": "It has none."})
    rows = list(tool_rows([tool], expected([tool])))
    assert rows == [["kafka-wings", "fly", "no: It has none."], ["kafka-wings", "walk", "yes"]]


def test_results_of_tools_that_are_not_complete_are_found() -> None:
    tools = all_tools()
    assert list(tool_faults(tools, Results("apache", apache_version(), expected(tools)))) == []
    assert len(list(tool_faults(tools, Results("apache", "1", expected(tools))))) == 1
    cells = dict(list(expected(tools).items())[1:])
    assert len(list(tool_faults(tools, Results("apache", apache_version(), cells)))) == 1
    limited = [Tool("kafka-wings", "Wings", {}, {"fly": "It has none."})]
    assert len(list(tool_faults(limited, Results("apache", apache_version())))) == 1
