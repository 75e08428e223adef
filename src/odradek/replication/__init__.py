"""Partitions as leader and follower, and requests that wait for them."""
