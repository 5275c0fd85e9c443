"""What is to happen, in the order of time."""

from fastpath.events.events import *
