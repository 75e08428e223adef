"""The real clock, disk, event loop and threads."""
