"""Metrics: declared in a Probe per package, counted in plain values, shown as Prometheus text."""
