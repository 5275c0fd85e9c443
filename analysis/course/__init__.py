"""What happened when: links and control traffic by slice of time, faults, convergence, and routers.

Everything here counts columns of tables, part by part, into sums that can be added; the tables `links`,
`control`, `faults`, `convergence` and `routers` are made of these sums. Not here: reading and deciding what
became of single messages (`messages`), and drawing (`report`).
"""
