"""What agents recall, as it is recorded."""
