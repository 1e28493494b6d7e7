"""A program that runs one load of topics.

python -m spark.support.loading BOOTSTRAP PATTERN LAKE FOLDER OFFSETS_PER_FILE
"""

import sys
from pathlib import Path

from spark.support.cluster import session
from streamlog.spark import load


def main(bootstrap: str, pattern: str, lake: str, folder: Path, offsets: str) -> None:
    """Runs a load; scratch files are in `folder`."""
    spark = session(folder, "loading")
    load(
        spark,
        lake,
        bootstrap=bootstrap,
        subscribe_pattern=pattern,
        offsets_per_file=int(offsets),
    )
    spark.stop()


if __name__ == "__main__":
    bootstrap, pattern, lake, folder, offsets = sys.argv[1:]
    main(bootstrap, pattern, lake, Path(folder), offsets)
