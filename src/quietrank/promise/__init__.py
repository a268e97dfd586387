"""What is promised, to whom, and at what price: the words of a promise, its items, and what it costs."""
