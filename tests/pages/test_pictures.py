"""The pictures of the README and the pages are those that the script draws."""

import subprocess
import sys
from pathlib import Path

DRAW = Path(__file__).parents[2] / "docs" / "pictures" / "draw.py"


def test_the_pictures_are_up_to_date() -> None:
    command = [sys.executable, str(DRAW), "--check"]
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout) == (0, ""), f"run python {DRAW}"
