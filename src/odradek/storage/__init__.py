"""The log: segments, indexes, recovery, retention, compaction, and the manager of all logs."""
