"""From the captures of a run to tables, a verdict and a report, with PySpark."""

from analysis.errors import AnalysisError

__all__ = ["AnalysisError"]
