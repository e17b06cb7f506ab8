"""The review page over HTTP, as a browser asks it."""
