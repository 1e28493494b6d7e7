"""Lets `py` be the folder of that name, for all who borrow from it; pytest has a module `py`."""

import sys

sys.modules.pop("py", None)
