"""Pure numerics: links, pairs, solvers, certificates and scores; no votes, no noise."""
