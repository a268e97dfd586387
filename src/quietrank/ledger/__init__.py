"""Charges in, durable entries out, and never more than the budget in total: a budget that outlives the process.

`composition` says what a sequence of releases costs, `records` and `file` how it is stored on disk; `book` puts them
together. `orders` are purchases with a name, delivered once; `history` shows what was spent.
"""
