"""What covers what, on encoded filters and predicates."""

from fastpath.cover.cover import *
