"""Groups and transactions: commits, rebalances, transactions, loading at start.

Commits and fetches of offsets use ready-made frames; whatever a client has to think about (joining,
growing, transactions) uses librdkafka in a process of its own. A group is stable when every member has
its share of all partitions, as the members themselves see it.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from statistics import median
from typing import Final

from benchmarks import wire
from benchmarks.brokers import START_SECONDS_MAX
from benchmarks.clients.commits import commit_request, committed_well, fetch_request, fetched_well
from benchmarks.process import MeasureError, run
from benchmarks.shapes import Better, Experiment, Figures, Group, Shape, Sizes, Stage
from benchmarks.site import Site
from odradek.protocol.messages.offset_commit import OffsetCommitResponse
from odradek.protocol.messages.offset_fetch import OffsetFetchResponse

_PARTITIONS: Final = 10
_CONNECTIONS: Final = 50
_READERS: Final = 10
_PARTITIONS_BEFORE: Final = 100
_RECORDS: Final = 100
#: A classic group is together within some ten milliseconds, so one time says little.
_CLASSIC_JOINS: Final = 5
_GRACE_SECONDS: Final = 120.0
#: OffsetCommit and OffsetFetch: the last version with names.
_VERSION: Final = 9
#: Groups in one request when all of them are looked at.
_ASKED: Final = 200


def _offsets(mode: str, site: Site, sizes: Sizes) -> Figures:
    with site.topic(_PARTITIONS) as topic, site.cpu() as cpu:
        load = _child(
            "commits",
            *(mode, site.broker.port, topic, _PARTITIONS, _CONNECTIONS, sizes.group_seconds),
        )
    return {
        "requests/s": load["requests"] / load["seconds"],
        "CPU-µs/request": cpu[0] / load["requests"] * 1e6,
    }


def _join(protocol: str, times: int, site: Site, sizes: Sizes) -> Figures:
    members = sizes.members
    with site.topic(members) as topic:
        took = [
            _child("groups", "join", site.broker.bootstrap, topic, members, members, protocol)
            for _ in range(times)
        ]
    return {"s": median(joined["seconds"] for joined in took)}


def _transactions(site: Site, sizes: Sizes) -> Figures:
    with site.topic() as topic, site.cpu() as cpu:
        load = _child(
            "groups", "transactions", site.broker.bootstrap, topic, _RECORDS, sizes.group_seconds
        )
    return {
        "transactions/s": load["transactions"] / load["seconds"],
        "CPU-ms/transaction": cpu[0] / load["transactions"] * 1e3,
    }


def _grow(protocol: str, site: Site, sizes: Sizes) -> Figures:
    site.broker.start()
    with site.topic(_PARTITIONS_BEFORE) as topic:
        grown = _child(
            *("groups", "grow", site.broker.bootstrap, topic),
            *(_PARTITIONS_BEFORE, _READERS, protocol, sizes.added_partitions),
        )
    return {"s": grown["seconds"], "added": sizes.added_partitions}


def _load(site: Site, sizes: Sizes) -> Figures:
    """Commit for many groups, restart, and time from the spawn until all of them are served."""
    site.broker.start()
    names = [f"group-{number}" for number in range(sizes.groups)]
    site.create_topics({"read": _PARTITIONS})
    deadline = time.monotonic() + _GRACE_SECONDS
    wire.wait_until_coordinated(site.broker.port, names[0], deadline)
    with wire.Connection(site.broker.port) as connection:
        for name in names:
            commit = commit_request(name, "read", _PARTITIONS)
            while not committed_well(connection.call(commit, OffsetCommitResponse, _VERSION)):
                if time.monotonic() > deadline:
                    raise MeasureError("offsets cannot be committed")
                time.sleep(0.01)  # the partitions of the offsets topic are being made
    site.broker.stop()
    began = time.monotonic()
    started = site.broker.start()
    pieces = [names[start : start + _ASKED] for start in range(0, len(names), _ASKED)]
    with wire.Connection(site.broker.port) as connection:
        # Groups are spread over the shards by a hash: the first piece meets every one of them.
        for piece in (pieces[0], *pieces):
            request = fetch_request(piece, "read", _PARTITIONS)
            while not fetched_well(connection.call(request, OffsetFetchResponse, _VERSION)):
                if time.monotonic() - began > START_SECONDS_MAX:
                    raise MeasureError("after the restart groups are missing")
                time.sleep(0.005)
        served = time.monotonic() - began
    return {"s": served, "first answer s": started, "groups": sizes.groups, "MB": site.rss_mb}


def _say_load(figures: Figures) -> str:
    return (
        f"{figures['groups']:,.0f} groups with {_PARTITIONS} partitions each; first Metadata answer"
        f" after {figures['first answer s']:.2f} s, {figures['MB']:.0f} MB resident"
    )


def _say_grow(figures: Figures) -> str:
    return f"{_READERS} consumers, {_PARTITIONS_BEFORE} + {figures['added']:.0f} partitions"


def _child(program: str, *arguments: object) -> dict[str, float]:
    words = [sys.executable, "-m", f"benchmarks.clients.{program}", *map(str, arguments)]
    figures: dict[str, float] = json.loads(run(words, seconds_max=_GRACE_SECONDS))
    return figures


def _shape(
    name: str,
    title: str,
    unit: str,
    better: Better,
    floor: float,
    goal: float,
    group: Group = Group.GROUPS,
) -> Shape:
    return Shape(
        name=name,
        group=group,
        title=title,
        unit=unit,
        better=better,
        floor=floor,
        goal=goal,
        figure=unit,
    )


EXPERIMENTS: Final = (
    Experiment(
        name="offset-commits",
        stage=Stage.PAIR,
        run=partial(_offsets, "commit"),
        shapes=(
            _shape(
                "offset-commits",
                f"offset commits, {_CONNECTIONS} consumers, {_PARTITIONS} partitions a request",
                "requests/s",
                Better.HIGHER,
                1.0,
                1.5,
            ),
        ),
    ),
    Experiment(
        name="offset-fetches",
        stage=Stage.PAIR,
        run=partial(_offsets, "fetch"),
        shapes=(
            _shape(
                "offset-fetches",
                f"offset fetches, {_CONNECTIONS} consumers, {_PARTITIONS} partitions a request",
                "requests/s",
                Better.HIGHER,
                1.0,
                1.5,
            ),
        ),
    ),
    Experiment(
        name="join-classic",
        stage=Stage.PAIR,
        run=partial(_join, "classic", _CLASSIC_JOINS),
        shapes=(
            _shape(
                "join-classic",
                "50 consumers join one group, until stable, classic protocol",
                "s",
                Better.LOWER,
                1.0,
                0.8,
            ),
        ),
    ),
    Experiment(
        name="join-consumer",
        stage=Stage.PAIR,
        run=partial(_join, "consumer", 1),
        shapes=(
            _shape(
                "join-consumer",
                "50 consumers join one group, until stable, KIP-848",
                "s",
                Better.LOWER,
                1.0,
                0.8,
            ),
        ),
    ),
    Experiment(
        name="transactions",
        stage=Stage.PAIR,
        run=_transactions,
        shapes=(
            _shape(
                "transactions",
                f"one transactional producer, {_RECORDS} records a transaction, librdkafka",
                "transactions/s",
                Better.HIGHER,
                1.0,
                1.5,
            ),
        ),
    ),
    *(
        Experiment(
            name=f"grow-{protocol}",
            stage=Stage.ALONE,
            run=partial(_grow, protocol),
            say=_say_grow,
            shapes=(
                _shape(
                    f"grow-{protocol}",
                    f"a topic grows by 900 partitions: until ten readers are stable, {words}",
                    "s",
                    Better.LOWER,
                    2.0,
                    1.0,
                    Group.ALONE,
                ),
            ),
            warm_up=False,
        )
        for protocol, words in (("classic", "classic protocol"), ("consumer", "KIP-848"))
    ),
    Experiment(
        name="load-groups",
        stage=Stage.ALONE,
        run=_load,
        say=_say_load,
        shapes=(
            _shape(
                "load-groups",
                "start with 10,000 groups of 10 partitions: until all are served",
                "s",
                Better.LOWER,
                5.0,
                2.0,
                Group.ALONE,
            ),
        ),
        warm_up=False,
    ),
)
