"""A reader may conclude: replicas are spread evenly, over racks too, and the same way every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from odradek.controller.placement import place_replicas
from odradek.errors import ApiError, Err
from odradek.metadata import BrokerRegistration


def brokers(racks: Sequence[str | None]) -> list[BrokerRegistration]:
    return [BrokerRegistration(number, {}, rack) for number, rack in enumerate(racks)]


def test_round_robin_with_a_shift_after_each_round() -> None:
    assert place_replicas(brokers([None] * 5), 6, 3) == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
    ]


@pytest.mark.parametrize("start", [0, 1, 7])
@pytest.mark.parametrize(("size", "factor"), [(1, 1), (3, 3), (5, 2), (6, 3)])
def test_leaders_and_replicas_are_even_over_full_rounds(size: int, factor: int, start: int) -> None:
    placed = place_replicas(brokers([None] * size), size * (size - 1 or 1), factor, start=start)
    assert all(len(set(replicas)) == factor for replicas in placed)
    assert len(set(Counter(replicas[0] for replicas in placed).values())) == 1
    assert len(set(Counter(b for replicas in placed for b in replicas).values())) == 1


def test_each_partition_uses_as_many_racks_as_it_can() -> None:
    racks = ["a", "a", "b", "b", "c", "c"]
    placed = place_replicas(brokers(racks), 30, 3)
    assert all(len({racks[b] for b in replicas}) == 3 for replicas in placed)
    placed = place_replicas(brokers(racks), 30, 4)
    assert all(len({racks[b] for b in replicas}) == 3 for replicas in placed)
    assert all(len(set(replicas)) == 4 for replicas in placed)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {5}


def test_racks_do_not_count_when_one_broker_has_none() -> None:
    assert place_replicas(brokers(["a", "a", None]), 1, 2) == [(0, 1)]


def test_added_partitions_go_on_where_the_topic_stopped() -> None:
    whole = place_replicas(brokers([None] * 3), 6, 2, start=1)
    later = place_replicas(brokers([None] * 3), 4, 2, start=1, first_partition=2)
    assert later == whole[2:]


def test_more_replicas_than_brokers_says_both_numbers() -> None:
    with pytest.raises(ApiError, match="3 larger than available brokers 1") as error:
        place_replicas(brokers([None]), 1, 3)
    assert error.value.err is Err.INVALID_REPLICATION_FACTOR
