"""The pages that show the results: raw data, tables and pictures below `docs/`."""

import json
from collections.abc import Iterator, Sequence

from study.installing import ROOT
from study.peers import PEERS
from study.pictures import rate_over_records
from study.report import Results, markdown

PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "docs" / "study" / "results"
PICTURES = ROOT / "docs" / "study"
GUIDE = ROOT / "docs" / "study" / "index.md"
SETTINGS = ("<!-- settings of the peers -->\n", "<!-- end of the settings -->\n")
BEGIN, END = "<!-- results of `make study` -->\n", "<!-- end of the results -->\n"

PICTURE = (
    ":::{container} picture",
    "```{image} study/produce-light.svg",
    ":alt: Rates of producers over the number of records sent.",
    ":class: only-light",
    "```",
    "",
    "```{image} study/produce-dark.svg",
    ":alt: Rates of producers over the number of records sent.",
    ":class: only-dark",
    "```",
    ":::",
)


def publish(results: Results) -> None:
    """Writes the results of a study into the pages."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{results['scale']['name']}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    for form, svg in rate_over_records(results).render():
        (PICTURES / f"produce-{form}.svg").write_text(svg)
    PAGE.write_text(replaced(PAGE.read_text(), results))
    GUIDE.write_text(with_settings(GUIDE.read_text()))


def replaced(page: str, results: Results) -> str:
    """Returns the page with these results between its marks."""
    lines = [*PICTURE, "", *markdown(results)]
    return _between(page, (BEGIN, END), lines)


def with_settings(page: str) -> str:
    """Returns the page with the settings of all peers between its marks."""
    return _between(page, SETTINGS, list(settings()))


def settings() -> Iterator[str]:
    """Yields the table of all settings that the study changes."""
    yield "| peer | setting | value | rows | reason |"
    yield "|---|---|---|---|---|"
    seen = set()
    for peer in PEERS.values():
        for row in peer.settings:
            title = peer.title.removesuffix(" classic queue")
            line = f"`{row.name}` | `{row.value}` | {row.mode or 'all'} | {row.reason}"
            if (type(peer), row) not in seen:
                yield f"| {title} | {line} |"
            seen.add((type(peer), row))


def _between(page: str, marks: tuple[str, str], lines: Sequence[str]) -> str:
    begin, end = marks
    head, _, rest = page.partition(begin)
    tail = rest.partition(end)[2]
    text = "\n".join(lines)
    return f"{head}{begin}\n{text}\n\n{end}{tail}"
