"""A partition's leader: the high watermark never falls, epochs fence, in-sync replicas decide."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from odradek.errors import ApiError, Err
from odradek.metadata.image import PartitionImage
from odradek.replication.partition import Partition
from odradek.types import TopicPartition

ME, OTHER, THIRD = 1, 2, 3


class Log:
    """What a partition asks of its log."""

    def __init__(self, end: int = 10, high_watermark: int = 4) -> None:
        self.log_end_offset = end
        self.high_watermark = high_watermark
        self.epochs: list[tuple[int, int]] = []

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        self.epochs.append((epoch, start_offset))


def image(leader: int = ME, epoch: int = 0, isr: tuple[int, ...] = (ME,), **more: Any) -> Any:
    return PartitionImage(
        replicas=more.get("replicas", isr),
        isr=isr,
        leader=leader,
        leader_epoch=epoch,
        partition_epoch=more.get("partition_epoch", 0),
    )


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def partition(log: Log) -> Partition:
    return Partition(TopicPartition("t", 0), UUID(int=1), ME, log)  # type: ignore[arg-type]


def test_the_only_replica_has_everything_committed(partition: Partition, log: Log) -> None:
    partition.become(image())
    assert partition.is_leader
    assert partition.high_watermark == 10
    log.log_end_offset = 12
    assert partition.maybe_advance_high_watermark()
    assert partition.high_watermark == 12
    assert not partition.maybe_advance_high_watermark()


def test_a_new_leader_notes_where_its_epoch_begins(partition: Partition, log: Log) -> None:
    """Once per epoch, and only as leader."""
    partition.become(image(epoch=3))
    partition.become(image(epoch=3, partition_epoch=9))
    partition.become(image(leader=OTHER, epoch=4))
    assert log.epochs == [(3, 10)]
    assert partition.leader_epoch == 4


def test_an_older_epoch_does_not_come_back(partition: Partition) -> None:
    partition.become(image(epoch=5))
    partition.become(image(epoch=4))
    assert partition.leader_epoch == 5


def test_the_high_watermark_is_what_all_in_sync_replicas_have(partition: Partition) -> None:
    """A follower that never fetched holds it; one that is out of sync does not."""
    partition.become(image(isr=(ME, OTHER), replicas=(ME, OTHER, THIRD)))
    assert partition.high_watermark == 4
    partition.remote_end_offsets[OTHER] = 7
    assert partition.maybe_advance_high_watermark()
    assert partition.high_watermark == 7
    partition.remote_end_offsets[OTHER] = 2  # a follower that was cut does not lower it
    assert not partition.maybe_advance_high_watermark()
    assert partition.high_watermark == 7
    partition.become(image(isr=(ME,), replicas=(ME, OTHER, THIRD)))
    assert partition.high_watermark == 10


def test_what_followers_have_is_forgotten_with_them(partition: Partition) -> None:
    partition.become(image(isr=(ME, OTHER)))
    partition.remote_end_offsets[OTHER] = 9
    partition.become(image(isr=(ME,), replicas=(ME, THIRD)))
    assert partition.remote_end_offsets == {THIRD: -1}


@pytest.mark.parametrize(
    ("epoch", "err"),
    [(-1, None), (5, None), (4, Err.FENCED_LEADER_EPOCH), (6, Err.UNKNOWN_LEADER_EPOCH)],
)
def test_clients_of_other_epochs_are_fenced(
    partition: Partition, epoch: int, err: Err | None
) -> None:
    partition.become(image(epoch=5))
    if err is None:
        partition.check_leader(epoch)
        return
    with pytest.raises(ApiError) as caught:
        partition.check_leader(epoch)
    assert caught.value.err is err


def test_who_does_not_lead_says_so(partition: Partition) -> None:
    partition.become(image(leader=OTHER, epoch=5))
    with pytest.raises(ApiError) as caught:
        partition.check_leader(5)
    assert caught.value.err is Err.NOT_LEADER_OR_FOLLOWER
