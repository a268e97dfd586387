"""A promise and a statistic in, the noise that keeps it out; from public values alone."""
