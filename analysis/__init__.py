"""From the captures of a run to tables, a verdict and a report, with PySpark."""
