"""Many runs beside each other: groups of runs that differ in the seed alone, and what sets them apart."""
