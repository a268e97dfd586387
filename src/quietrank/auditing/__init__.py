"""Options in, an `Audit` out: the attack that comes with the library, on the same code that makes releases.

It works on synthetic votes only; docs/audit.md explains it.
"""
