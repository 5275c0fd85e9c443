"""Frames between taps, with what links do to them."""

from fastpath.cable.cable import *
