"""Attacks of cheap requests: what they send, from where, and what a client beside them waits."""
