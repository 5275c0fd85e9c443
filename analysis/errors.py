"""What the analysis says when it cannot do its work."""

from __future__ import annotations


class AnalysisError(Exception):
    """The analysis cannot go on; the text says what, where, and what to do."""
