"""Options in, an `Audit` out: the attack that ships with the library, on the very code that makes releases.

It works on synthetic votes only; docs/audit.md explains it.
"""
