"""`python -m nodes.attacks --config node.toml`: a compromised router, in the place of `python -m nodes`."""

import sys

from nodes.attacks.daemon import compromised
from nodes.daemon.main import main

sys.exit(main(make=compromised))
