"""`python -m testbed.cli` is `cbn`."""

import sys

from testbed.cli.main import main

sys.exit(main())
