"""The verdict over a run within about a second: the counts of the analysis, without Spark (decision 23)."""
