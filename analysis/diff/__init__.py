"""Two runs beside each other: what is different in the second, and how sure that is."""
