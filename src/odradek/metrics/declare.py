"""One line per metric. A package declares its metrics in a `Probe`; a broker makes one of each.

    class StorageProbe(Probe):
        appended_bytes = counter("odradek_log_appended_bytes_total", labels=("topic",), doc="…")
        recoveries = counter("odradek_log_recoveries_total", doc="…")
        append_ms = histogram("odradek_log_append_milliseconds", doc="…")

    probe = StorageProbe(registry)
    probe.appended_bytes["orders"] += 4096       # one label: its value; several: a tuple of them
    probe.recoveries += 1                        # no label: a plain number
    probe.append_ms.observe(0.7)

Counting must cost nothing next to a system call, so there are no locks and no method calls in
between: a number is an attribute of the probe, a labelled one an entry of a dict. The loop's thread
owns every probe: it alone counts, and it renders the page between two counts. Work in other threads
hands its numbers back with its result. Nothing is kept over a restart; Prometheus knows resets.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, cast, overload

if TYPE_CHECKING:
    from odradek.metrics.registry import Registry

LabelValues: TypeAlias = Any  # a str (or an int) for one label, a tuple of them for several

#: Milliseconds from a memory access to a stalled disk, a factor of about 2.5 between neighbours.
LATENCY_MS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10000)
#: Bytes from a lone record to the largest request.
SIZE_BYTES: Final = (256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 104857600)


class MetricType(Enum):
    """How Prometheus calls a metric's type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Series(dict[LabelValues, float]):
    """A labelled metric's numbers; a label not seen before starts at zero."""

    __slots__ = ()

    def __missing__(self, labels: LabelValues) -> int:
        return 0


class Histogram:
    """Counts per bucket, their sum and their number. Bucket i holds values up to bounds[i]."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        assert list(bounds) == sorted(set(bounds)), "bounds rise"
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last one: above every bound
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """Values so far."""
        return sum(self.counts)


class HistogramSeries(dict[LabelValues, Histogram]):
    """A labelled histogram; a label not seen before gets an empty one."""

    __slots__ = ("bounds",)

    def __init__(self, bounds: tuple[float, ...]) -> None:
        super().__init__()
        self.bounds = bounds

    def __missing__(self, labels: LabelValues) -> Histogram:
        made = self[labels] = Histogram(self.bounds)
        return made


class Sampled:
    """A gauge that is asked when somebody looks: `probe.partitions.sample = lambda: len(logs)`.

    With labels the function returns a mapping from label values to numbers.
    """

    __slots__ = ("sample",)

    def __init__(self) -> None:
        self.sample: Callable[[], float | Mapping[LabelValues, float]] | None = None


class Metric:
    """One metric's facts."""

    __slots__ = ("buckets", "doc", "labels", "name", "sampled", "type")

    def __init__(
        self,
        name: str,
        type_: MetricType,
        labels: tuple[str, ...],
        doc: str,
        buckets: tuple[float, ...] = (),
        sampled: bool = False,
    ) -> None:
        self.name = name
        self.type = type_
        self.labels = labels
        self.doc = doc
        self.buckets = buckets
        self.sampled = sampled

    def start(self) -> float | Series | Histogram | HistogramSeries | Sampled:
        """What a new probe holds under this metric's attribute."""
        if self.sampled:
            return Sampled()
        if self.type is MetricType.HISTOGRAM:
            return HistogramSeries(self.buckets) if self.labels else Histogram(self.buckets)
        return Series() if self.labels else 0


@overload
def counter(name: str, *, doc: str) -> int: ...
@overload
def counter(name: str, *, labels: tuple[str, ...], doc: str) -> Series: ...
def counter(name: str, *, labels: tuple[str, ...] = (), doc: str) -> int | Series:
    """A number that only grows; by Prometheus's custom its name ends in _total."""
    assert name.endswith("_total"), f"{name}: a counter's name ends in _total"
    return cast("int | Series", Metric(name, MetricType.COUNTER, labels, doc))


@overload
def gauge(name: str, *, doc: str) -> float: ...
@overload
def gauge(name: str, *, labels: tuple[str, ...], doc: str) -> Series: ...
def gauge(name: str, *, labels: tuple[str, ...] = (), doc: str) -> float | Series:
    """A number that goes up and down, kept by whoever changes it."""
    return cast("float | Series", Metric(name, MetricType.GAUGE, labels, doc))


def sampled_gauge(
    name: str,
    *,
    labels: tuple[str, ...] = (),
    doc: str,
    type: Literal["gauge", "counter"] = "gauge",  # noqa: A002 (Prometheus's word)
) -> Sampled:
    """A number that somebody else keeps anyway, asked at each scrape."""
    return cast(Sampled, Metric(name, MetricType(type), labels, doc, sampled=True))


@overload
def histogram(name: str, *, buckets: tuple[float, ...] = ..., doc: str) -> Histogram: ...
@overload
def histogram(
    name: str, *, labels: tuple[str, ...], buckets: tuple[float, ...] = ..., doc: str
) -> HistogramSeries: ...
def histogram(
    name: str,
    *,
    labels: tuple[str, ...] = (),
    buckets: tuple[float, ...] = LATENCY_MS,
    doc: str,
) -> Histogram | HistogramSeries:
    """How values are spread over fixed buckets."""
    return cast(
        "Histogram | HistogramSeries", Metric(name, MetricType.HISTOGRAM, labels, doc, buckets)
    )


class Probe:
    """A package's metrics. Without a registry it only counts, which is all that a test needs."""

    METRICS: ClassVar[Mapping[str, Metric]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: member for name, member in vars(cls).items() if isinstance(member, Metric)}
        cls.METRICS = {**cls.METRICS, **own}

    def __init__(self, registry: Registry | None = None) -> None:
        # Instance attributes hide the declarations of the class: counting touches plain values.
        for attribute, metric in self.METRICS.items():
            setattr(self, attribute, metric.start())
        if registry is not None:
            registry.add(self)

    def read(self) -> Iterator[tuple[Metric, Any]]:
        """Every metric with what it holds; sampled ones are asked now."""
        for attribute, metric in self.METRICS.items():
            value = getattr(self, attribute)
            if not isinstance(value, Sampled):
                yield metric, value
            elif value.sample is not None:
                yield metric, value.sample()

    def forget(self, label: str, value: str) -> None:
        """Drop every series of a label value that is gone, such as a deleted topic."""
        for attribute, metric in self.METRICS.items():
            if label not in metric.labels:
                continue
            series = getattr(self, attribute)
            if not isinstance(series, Series | HistogramSeries):
                continue
            place = metric.labels.index(label)
            one = len(metric.labels) == 1
            for labels in [k for k in series if (k if one else k[place]) == value]:
                del series[labels]
