"""The page about pipelines runs, with its commands as separate processes."""

from pathlib import Path

from pages.session import Session
from pages.test_pages import to_run


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    Session(tmp_path, to_run("docs/spark/pipeline.md")).follow()
