"""What it costs to recognise patterns in routers, beside clients that do so themselves (ADR 2.4.1, 3.6)."""
