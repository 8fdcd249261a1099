"""The papers' printed numbers, beside which ours are shown."""
