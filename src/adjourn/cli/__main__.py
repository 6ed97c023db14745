"""`python -m adjourn.cli` is `adjourn`."""

import sys

from . import main

sys.exit(main())
