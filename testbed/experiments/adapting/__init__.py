"""How soon AMSP follows a change of demand, and what that costs, against markings computed with all known."""
