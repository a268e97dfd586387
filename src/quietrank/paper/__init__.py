"""The published experiments, reproduced and extended: settings in, means with standard errors and figures out.

Everything here is a simulation: the noise is seeded and drawn by NumPy in floating point. It measures accuracy; it
protects nobody. Releases are made by `quietrank.crossing`, with exact noise from the operating system's entropy.
"""
