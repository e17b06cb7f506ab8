"""What rows mean: memories and their texts, facts, what is retired, what is exempt from ageing and screening."""
