"""The simulated world: an event queue, links and captures around the cores, in one process.

No real clock, no real socket, no root. The same plan and seed give the same bytes.
"""

import nodes as nodes  # before the modules of this package: it decides how they are imported
