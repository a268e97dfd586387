"""A published release in; what can be checked about it (`verify`), and what a privacy officer files (`pack`), out."""
