"""One file an audit: what it reads, and the words that the operator reads. The work is done by ``slowwave.audits``."""
