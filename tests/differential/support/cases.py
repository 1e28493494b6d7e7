"""The scenarios by the API that they are about."""

from collections import defaultdict
from collections.abc import Callable

from differential.support.ask import Ask

Case = Callable[[Ask], None]

CASES: defaultdict[str, list[Case]] = defaultdict(list)


def about(api: str) -> Callable[[Case], Case]:
    """Marks a scenario as one of this API; it runs in every version that both brokers serve."""

    def keep(case: Case) -> Case:
        CASES[api].append(case)
        return case

    return keep
