"""Integers in, integers with privacy noise out: the only package that draws noise, and only `crossing.py` calls it.

Every draw comes from the operating system's entropy, and none passes through floating point: OpenDP samples the
discrete distributions (`lattice.py`), interval arithmetic rounds real-valued ones (`exact.py`, `knorm.py`), and
comparisons of random words decide Laplace noise on many values and rounded Gaussian noise (`words.py`,
`exponential.py`, `normal.py`).
"""
