"""The files that the rules judge: those of the repository, or a planted few in a self-test."""

import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Tree:
    """A set of files under a root, named by their paths with forward slashes."""

    root: Path
    paths: tuple[str, ...]

    @classmethod
    def of_repository(cls) -> "Tree":
        """All files that are, or may be, committed; what git ignores is not judged."""
        listing = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        paths = {path for path in listing.split("\0") if path and (ROOT / path).is_file()}
        return cls(ROOT, tuple(sorted(paths)))

    @classmethod
    def planted(cls, root: Path, files: dict[str, str]) -> "Tree":
        """The given texts, written below `root`."""
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return cls(root, tuple(sorted(files)))

    def matching(self, *patterns: str) -> list[str]:
        """The paths that fit one of the patterns, where `*` also spans folders."""
        return [path for path in self.paths if any(fnmatch(path, p) for p in patterns)]

    def read(self, path: str) -> str:
        """The text of a file."""
        return (self.root / path).read_text()

    def folders(self) -> dict[str, list[str]]:
        """The names of the files that lie directly in each folder."""
        folders: dict[str, list[str]] = {}
        for path in map(PurePosixPath, self.paths):
            folders.setdefault(path.parent.as_posix(), []).append(path.name)
        return folders
