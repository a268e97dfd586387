"""What may be published with noise: for each statistic its vector, and how far one unit can move it."""
