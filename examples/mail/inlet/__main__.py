"""Stores the mails of a folder, an mbox or an account: the existing ones, then new ones.

python -m mail.inlet [PATH] [--once]

PATH is a folder of mails or an mbox, which is read without changes, instead of the configured
source. SIGTERM and Ctrl-C end it after the current round.
"""

import imaplib
import signal
import sys
import threading
from pathlib import Path

import streamlog
from mail import config, topics
from mail.inlet.folder import Folder
from mail.inlet.imap import Imap
from mail.inlet.mbox import Mbox
from mail.inlet.source import Source
from mail.inlet.store import Store


def source(settings: config.Config, path: Path | None) -> Source:
    """Returns the configured source, or `path`, to be read without changes."""
    inlet = settings.inlet
    done, rejected = Path(inlet.done), Path(inlet.rejected)
    wanted = path or (Path(inlet.path) if inlet.source == "mbox" else None)
    if wanted is not None and not wanted.exists():
        raise config.ConfigError(f"{wanted}: there is no such file or folder")
    if path is not None:
        return Mbox(path) if path.is_file() else Folder(path, "keep", done, rejected)
    if inlet.source == "imap":
        return Imap(settings.imap)
    if inlet.source == "mbox":
        return Mbox(Path(inlet.path))
    return Folder(Path(inlet.path), inlet.after, done, rejected)


def run(settings: config.Config, mails: Source, *, once: bool) -> None:
    """Stores waiting mails until stopped, or, if `once`, until none are waiting."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # The kernel signals the holder of a lease when the file is opened; leases are short anyway.
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    with topics.connect(settings) as client, Store(client, settings.topics) as store:
        while not stop.is_set():
            taken = store.take(mails)
            if once and taken == 0 and not mails.is_away:
                break
            if taken:
                print(_told(store), flush=True)
            else:
                stop.wait(settings.inlet.poll)


def _told(store: Store) -> str:
    counts = store.counts
    rejected = f", {counts.rejected:,} rejected" if counts.rejected else ""
    with_files = f"{counts.attachments:,} with attachments"
    size = f"{counts.size / 2**20:,.1f} MiB"
    return f"inlet     {counts.mails:,} mails stored, {with_files}, {size}{rejected}"


def main() -> int:
    """The command."""
    parser = config.argument_parser("inlet", "Stores mails in topics")
    parser.add_argument("path", type=Path, nargs="?", help="a folder or an mbox of yours")
    parser.add_argument("--once", action="store_true", help="end when nothing waits any more")
    arguments = parser.parse_args()
    try:
        settings = config.read(arguments.config)
        run(settings, source(settings, arguments.path), once=arguments.once)
    except (config.ConfigError, streamlog.StreamlogError, imaplib.IMAP4.error, OSError) as error:
        print(f"inlet     {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
