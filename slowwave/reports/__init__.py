"""Reports: what they hold, how they become harmless Markdown, and how a run's events reach files and other sinks."""
