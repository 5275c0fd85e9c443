"""From the captures of a run to tables, a verdict and a report, with PySpark."""


class AnalysisError(Exception):
    """The analysis cannot go on; the text says what, where, and what to do."""
