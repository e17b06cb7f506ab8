"""Jobs and the nightly schedule: which assets run together, and the two that write memory. No asset logic."""
