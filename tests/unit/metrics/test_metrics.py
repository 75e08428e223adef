"""Metrics count in plain values and are shown in Prometheus's text format."""

from __future__ import annotations

import math

import pytest

from odradek.metrics.declare import Probe, counter, gauge, histogram, sampled_gauge
from odradek.metrics.exposition import render
from odradek.metrics.registry import Registry


class ThingProbe(Probe):
    bytes_in = counter("thing_bytes_total", labels=("topic",), doc="Bytes in.")
    starts = counter("thing_starts_total", doc="Starts.")
    open_files = gauge("thing_open_files", doc='Back\\slash and\nnewline, "quotes".')
    by_pair = gauge("thing_pairs", labels=("topic", "partition"), doc="Pairs.")
    latency = histogram("thing_latency_milliseconds", buckets=(1, 2.5), doc="Latency.")
    by_api = histogram("thing_api_milliseconds", labels=("api",), buckets=(1,), doc="By API.")
    logs = sampled_gauge("thing_logs", doc="Logs.")
    sizes = sampled_gauge("thing_sizes", labels=("topic",), doc="Sizes.")


def page(registry: Registry) -> list[str]:
    return render(registry).decode().splitlines()


def samples(registry: Registry) -> list[str]:
    return [line for line in page(registry) if not line.startswith("#")]


def test_counting_is_adding() -> None:
    probe = ThingProbe()
    probe.bytes_in["a"] += 5
    probe.bytes_in["a"] += 5
    probe.starts += 1
    probe.by_pair["a", 0] = 3
    assert (probe.bytes_in["a"], probe.starts, probe.by_pair["a", 0]) == (10, 1, 3)


def test_two_probes_share_nothing() -> None:
    one, other = ThingProbe(), ThingProbe()
    one.bytes_in["a"] += 1
    one.starts += 1
    one.latency.observe(1)
    assert (other.bytes_in["a"], other.starts, other.latency.count) == (0, 0, 0)


def test_the_page() -> None:
    registry = Registry()
    probe = ThingProbe(registry)
    probe.bytes_in['odd"\\\n'] += 5
    probe.open_files = 2.5
    probe.by_pair["a", 0] = 3
    probe.logs.sample = lambda: 7
    probe.sizes.sample = lambda: {"a": math.inf, "b": math.nan}
    lines = page(registry)
    assert '# HELP thing_open_files Back\\\\slash and\\nnewline, "quotes".' in lines
    assert "# TYPE thing_bytes_total counter" in lines
    assert "# TYPE thing_latency_milliseconds histogram" in lines
    assert 'thing_bytes_total{topic="odd\\"\\\\\\n"} 5' in lines
    assert "thing_starts_total 0" in lines
    assert "thing_open_files 2.5" in lines
    assert 'thing_pairs{topic="a",partition="0"} 3' in lines
    assert "thing_logs 7" in lines
    assert 'thing_sizes{topic="a"} +Inf' in lines
    assert 'thing_sizes{topic="b"} NaN' in lines
    assert render(registry).endswith(b"\n")


def test_histograms_are_cumulative_with_bounds_included() -> None:
    registry = Registry()
    probe = ThingProbe(registry)
    for value in (0.5, 1, 2, 100):
        probe.latency.observe(value)
    probe.by_api["Produce"].observe(0.5)
    assert [line for line in samples(registry) if "latency" in line] == [
        'thing_latency_milliseconds_bucket{le="1"} 2',
        'thing_latency_milliseconds_bucket{le="2.5"} 3',
        'thing_latency_milliseconds_bucket{le="+Inf"} 4',
        "thing_latency_milliseconds_sum 103.5",
        "thing_latency_milliseconds_count 4",
    ]
    assert 'thing_api_milliseconds_bucket{api="Produce",le="1"} 1' in samples(registry)
    assert 'thing_api_milliseconds_count{api="Produce"} 1' in samples(registry)


def test_a_sampled_gauge_without_a_source_is_left_out() -> None:
    registry = Registry()
    ThingProbe(registry)
    assert not any("thing_logs" in line for line in page(registry))


def test_a_deleted_topic_leaves_the_page() -> None:
    registry = Registry()
    probe = ThingProbe(registry)
    for topic in ("gone", "kept"):
        probe.bytes_in[topic] += 1
        probe.by_pair[topic, 0] = 1
    registry.forget("topic", "gone")
    assert not any("gone" in line for line in page(registry))
    assert sum("kept" in line for line in page(registry)) == 2


def test_a_metric_belongs_to_one_probe() -> None:
    registry = Registry()
    ThingProbe(registry)
    with pytest.raises(AssertionError, match="declared twice"):
        ThingProbe(registry)
    with pytest.raises(AssertionError, match="_total"):
        counter("thing_bytes", doc="Bytes.")


def test_a_subclass_adds_to_its_parents_metrics() -> None:
    class More(ThingProbe):
        extra = counter("thing_extra_total", doc="More.")

    probe = More()
    probe.extra += 1
    assert set(More.METRICS) == {*ThingProbe.METRICS, "extra"}
    assert probe.starts == 0
