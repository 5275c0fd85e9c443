"""The disjunction advantage of real predicates (RTE 4.2, Figs. 6 and 7): conjunctions reduced by pairs."""
