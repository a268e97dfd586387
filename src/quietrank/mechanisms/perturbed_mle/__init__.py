"""The published perturbed maximum likelihood, sealed: noise inside the likelihood."""
