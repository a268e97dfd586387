"""The whole of it in a browser, on one's own machine."""
