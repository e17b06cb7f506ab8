"""What must hold after every apply: our own invariants in SQL, and the store's contract in Great Expectations."""
