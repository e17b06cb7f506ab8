"""What `import slowwave` gives: dreams, their outcomes and results."""
