"""`python -m onlinekit` is the `onlinekit` command."""

import sys

from onlinekit.cli import main

if __name__ == "__main__":
    sys.exit(main())
