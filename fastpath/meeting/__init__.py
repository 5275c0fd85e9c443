"""What a router holds of descriptors and matches, and whom it tells of them."""

from fastpath.meeting.meeting import *
