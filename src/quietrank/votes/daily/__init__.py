"""CONFIDENTIAL: votes with their days in, the exact counts of each day out, people bounded over all days together."""
