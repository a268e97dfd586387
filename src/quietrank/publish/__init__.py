"""Estimates in, releases out: what is published, as plain values, JSON, CSV and files."""
