"""The disjunction advantage of predicates that are any sets of messages (RTE 4.1, Fig. 5)."""
