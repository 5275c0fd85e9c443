"""`python -m nodes --config node.toml`."""

import sys

from nodes.daemon.main import main

sys.exit(main())
