"""Programs that run as children of a benchmark, so that a client's work is not the harness's."""
