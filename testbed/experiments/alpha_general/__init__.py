"""The disjunction advantage in the general model (RTE 4.1, Fig. 5): predicates as sets of messages."""
