"""What a board keeps about people, day by day: confidential."""
