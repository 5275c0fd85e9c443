"""The disjunction advantage of predicates that are conjunctions of constraints (RTE 4.2, Figs. 6 and 7)."""
