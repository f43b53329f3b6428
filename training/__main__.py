"""The door of `python -m training`."""

import sys

from training import cli

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
