"""Writes the mailbox as .eml files, the ledger, and the reference table of instruments.

python -m mail.generator [--mails 3000] [--seed 1] [--folder inbox]
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from mail import config, instruments
from mail.generator.compose import Mailbox
from mail.generator.universe import ASSET_CLASSES, universe


def generate(settings: config.Generator, folder: Path, table: Path) -> tuple[int, int]:
    """Writes all files, and returns the number of mails and prices."""
    ledger = Path(settings.ledger)
    for path in (folder, ledger.parent, table.parent):
        path.mkdir(parents=True, exist_ok=True)
    instruments.write(table, universe())
    prices = 0
    with ledger.open("w") as lines:
        for number, (raw, truth) in enumerate(Mailbox(settings)):
            prices += len(truth.prices)
            lines.write(json.dumps(truth.as_dict(), ensure_ascii=False) + "\n")
            # A mail is complete once it has its final name.
            part = folder / f".{number:07d}.part"
            part.write_bytes(raw)
            part.rename(folder / f"{number:07d}.eml")
    return settings.mails, prices


def main() -> int:
    """The command."""
    parser = config.argument_parser("generator", "Makes up a mailbox")
    parser.add_argument("--mails", type=int, help="how many")
    parser.add_argument("--seed", type=int, help="another seed is another mailbox")
    parser.add_argument("--folder", type=Path, help="where they go (inlet.path)")
    arguments = parser.parse_args()
    settings = config.read(arguments.config)
    given = {key: getattr(arguments, key) for key in ("mails", "seed")}
    wanted = replace(
        settings.generator, **{key: value for key, value in given.items() if value is not None}
    )
    folder = arguments.folder or Path(settings.inlet.path)
    mails, prices = generate(wanted, folder, Path(settings.parser.instruments))
    print(f"generator {mails:,} mails with {prices:,} prices in {folder}, seed {wanted.seed}")
    known = f"{len(universe()):,} instruments of {len(ASSET_CLASSES)} classes"
    print(f"          {known} in {settings.parser.instruments}, the truth in {wanted.ledger}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
