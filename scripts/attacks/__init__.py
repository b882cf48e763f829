"""Attacks with cheap requests, their senders, and the waiting time of another client."""
