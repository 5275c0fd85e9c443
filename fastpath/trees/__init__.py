"""Shortest-path trees of all sources."""

from fastpath.trees.trees import *
