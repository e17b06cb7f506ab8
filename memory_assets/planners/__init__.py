"""One file a planner: what it reads, and the words that the operator reads. The work is done by ``slowwave.planners``."""
