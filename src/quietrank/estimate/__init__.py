"""Noisy tallies in, estimates out: post-processing, which may be wrong and cannot leak."""
