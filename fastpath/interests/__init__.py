"""Sets of filters by the million, their unions, and tables kept at these."""

from fastpath.interests.interests import *
