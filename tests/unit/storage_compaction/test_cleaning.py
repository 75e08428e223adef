"""A compacted log keeps the last value of every key, its offsets, and what producers rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from odradek.records.batch import DELETE_HORIZON, crc_of
from odradek.records.builder import build_batch
from odradek.records.compression import Codec
from odradek.records.record import Record
from odradek.storage import file_names
from odradek.types import TopicPartition

DAY_MS = 86_400_000
TP = TopicPartition("members", 0)
World = Any  # see conftest


def memberships(world: World) -> None:
    world.put(("Customer 0", "Basic"), ("Customer 1", "Gold"))
    world.put(("Customer 0", "Gold"))
    world.roll()
    world.put(("Customer 2", "Basic"), ("Customer 1", "Basic"))
    world.roll()
    world.put(("Customer 0", "Silver"))


def test_the_last_value_of_each_key_stays(world: World) -> None:
    """S-7.18: offsets keep their numbers, with gaps; the active segment is not touched."""
    memberships(world)
    world.clean()
    assert world.records() == [
        (2, "Customer 0", "Gold"),
        (3, "Customer 2", "Basic"),
        (4, "Customer 1", "Basic"),
        (5, "Customer 0", "Silver"),
    ]
    assert world.log.log_end_offset == 6


def test_a_log_without_compact_is_not_cleaned(new_world: Callable[..., World]) -> None:
    """D0-06: cleanup.policy decides; delete alone never compacts, both together do."""
    world = new_world(cleanup_policy="delete")
    memberships(world)
    before = world.records()
    world.clean()
    assert world.records() == before


def test_compact_and_delete_together_compact(new_world: Callable[..., World]) -> None:
    """D0-06: compact,delete is cleaned like compact; retention is a matter of its own."""
    world = new_world(cleanup_policy="compact,delete")
    memberships(world)
    world.clean()
    assert len(world.records()) == 4


def test_small_segments_are_merged(world: World) -> None:
    """Cleaned neighbours that fit into segment.bytes become one segment; old files are set aside."""
    memberships(world)
    assert [s.base_offset for s in world.log.segments] == [0, 3, 5]
    world.clean()
    assert [s.base_offset for s in world.log.segments] == [0, 5]
    names = world.files()
    assert "00000000000000000003.log" not in names
    assert "00000000000000000003.log.deleted" in names
    assert not any(name.endswith((".cleaned", ".swap")) for name in names)


def test_every_offset_can_still_be_read(world: World) -> None:
    """A reader at an offset that is gone gets the next batch that is there."""
    memberships(world)
    world.clean()
    for offset in range(6):
        assert world.log.read(offset, 10_000, upto=world.log.log_end_offset) is not None


def test_the_checkpoint_says_how_far(world: World) -> None:
    """cleaner-offset-checkpoint holds the end of the clean part; the next cleaning starts there."""
    memberships(world)
    world.clean()
    text = (world.path.parent / file_names.CLEANER_OFFSETS).read_text()
    assert text == "0\n1\nmembers 0 5\n"
    before = world.files()
    world.clean()  # nothing is dirty
    assert world.files() == before


def test_a_tombstone_is_served_and_later_removed(world: World) -> None:
    """S-7.18b: the tombstone removes older values, stays delete.retention.ms, then the key is gone."""
    world.put(("Customer 0", "Basic"), ("Customer 1", "Gold"))
    world.put(("Customer 0", None))
    world.roll()
    world.put(("x", "1"))
    world.clean()
    assert world.records() == [(1, "Customer 1", "Gold"), (2, "Customer 0", None), (3, "x", "1")]
    (header,) = [h for h, _ in world.batches() if h.base_offset == 2]
    assert header.attributes & DELETE_HORIZON
    assert header.base_timestamp == world.clock.ms + DAY_MS
    world.clock.ms += DAY_MS // 2
    world.roll()
    world.put(("x", "2"))
    world.clean()
    assert (2, "Customer 0", None) in world.records()
    world.clock.ms += DAY_MS
    world.roll()
    world.put(("x", "3"))
    world.clean()
    assert not any(key == "Customer 0" for _, key, _ in world.records())


def test_timestamps_survive_the_delete_horizon(world: World) -> None:
    """The horizon replaces the base timestamp; what readers see does not change."""
    world.append(
        build_batch(
            [Record(0, world.clock.ms - 5, b"a", None), Record(1, world.clock.ms, b"b", b"1")]
        )
    )
    before = [h.max_timestamp for h, _ in world.batches()]
    world.roll()
    world.put(("x", "1"))
    world.clean()
    header, batch = next(iter(world.batches()))
    assert header.attributes & DELETE_HORIZON
    assert header.max_timestamp == before[0]
    assert header.crc == crc_of(batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches_stay_compressed(world: World, codec: Codec) -> None:
    """A batch that loses records keeps its codec and its CRC is right."""
    world.put(("a", "1"), ("b", "1"), ("a", "2"), codec=codec)
    world.roll()
    world.put(("x", "1"))
    world.clean()
    header, batch = next(iter(world.batches()))
    assert header.codec == codec
    assert header.crc == crc_of(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (0, 2, 2)
    assert world.records() == [(1, "b", "1"), (2, "a", "2"), (3, "x", "1")]


def test_long_keys_are_told_apart(world: World) -> None:
    """Keys longer than the digest in the map are still different keys."""
    world.put(("k" * 100 + "1", "a"), ("k" * 100 + "2", "b"), ("k" * 100 + "1", "c"))
    world.roll()
    world.put(("x", "1"))
    world.clean()
    assert [value for _, _, value in world.records()] == ["b", "c", "1"]


def test_the_last_batch_of_a_live_producer_stays_as_an_empty_one(world: World) -> None:
    """Sequence and epoch of an idempotent producer survive the removal of all its records."""
    world.put(("a", "1"), producer_id=7, producer_epoch=2, base_sequence=0)
    world.put(("b", "1"), producer_id=7, producer_epoch=2, base_sequence=1)
    world.put(("b", "2"))
    world.put(("a", "2"))
    world.roll()
    world.put(("x", "1"))
    world.clean()
    mine = [h for h, _ in world.batches() if h.producer_id == 7]
    assert [(h.record_count, h.base_sequence, h.producer_epoch) for h in mine] == [(0, 1, 2)]
    assert [key for _, key, _ in world.records()] == ["b", "a", "x"]
    world.reload()
    # The next sequence is still the expected one.
    world.put(("c", "1"), producer_id=7, producer_epoch=2, base_sequence=2)


def test_records_without_a_key_stay(new_world: Callable[..., World]) -> None:
    """What a topic got before it was compacted: such records cannot be superseded."""
    world = new_world(cleanup_policy="delete")
    world.put((None, "old"), ("a", "1"))
    world.put(("a", "2"))
    world.roll()
    world.put(("x", "1"))
    world.compact_from_now_on()
    world.clean()
    assert world.records() == [(0, None, "old"), (2, "a", "2"), (3, "x", "1")]


def test_batches_that_lie_are_kept_and_do_not_stop_the_rest(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch with a right CRC and garbled records survives as it is; the others are cleaned."""
    world.put(("a", "1"))
    liar = build_batch(
        [Record(0, world.clock.ms, b"a", b"x"), Record(1, world.clock.ms, b"b", b"x")]
    )
    liar[61] = 0x7F  # the first record's length
    liar[17:21] = crc_of(liar).to_bytes(4, "big")
    world.append_unchecked(liar)
    world.put(("a", "2"))
    world.roll()
    world.put(("x", "1"))
    world.clean()
    bases = [h.base_offset for h, _ in world.batches()]
    assert bases == [1, 3, 4]
    assert "kept as it is" in caplog.text


def test_a_log_that_cannot_be_read_is_left_alone(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A flipped bit on the disk marks the partition uncleanable; nothing is rewritten or removed."""
    memberships(world)
    path = world.path / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[70] ^= 0xFF
    path.write_bytes(content)
    before = world.files()
    world.clean()
    assert world.files() == before
    assert world.cleaner.uncleanable
    assert "cannot be compacted" in caplog.text
    world.clean()
    assert world.cleaner.is_idle


def test_a_full_map_cleans_up_to_where_it_reached(world: World) -> None:
    """With memory for two keys the cleaning ends early, at a batch, and the next one goes on."""
    world.cleaner = world.new_cleaner(map_memory_bytes=400)
    for i in range(6):
        world.put((f"k{i % 3}", str(i)))
    world.roll()
    world.put(("x", "1"))
    world.clean()
    assert world.dir.cleaner_offsets[TP] == 2
    for _ in range(5):
        world.clean()
    assert world.dir.cleaner_offsets[TP] == 6
    newest = {key: value for _, key, value in world.records()}
    assert newest == {"k0": "3", "k1": "4", "k2": "5", "x": "1"}


def test_a_log_that_is_cut_meanwhile_is_not_replaced(world: World) -> None:
    """A truncation between reading and exchange wins; the new files go."""
    memberships(world)
    world.clock.ms += 20_000
    world.cleaner.tick(world.clock.ms)
    world.pool.step()  # the keys are known, the first group is next
    world.log.truncate_to(3)
    after_cut = world.records()
    world.pool.drain()
    assert world.records() == after_cut
    assert world.cleaner.is_idle
    assert TP not in world.dir.cleaner_offsets


def test_segments_removed_by_retention_meanwhile_end_the_cleaning(world: World) -> None:
    """Files that are gone are no failure of the disk."""
    memberships(world)
    world.clock.ms += 20_000
    world.cleaner.tick(world.clock.ms)
    world.log.remove_first_segments(1, world.clock.ms)
    world.pool.drain()
    assert world.cleaner.is_idle
    assert not world.failures
    assert not world.cleaner.uncleanable


def test_the_disk_is_given_time(world: World) -> None:
    """log.cleaner.io.max.bytes.per.second: the next step waits until the bytes are paid for."""
    world.cleaner = world.new_cleaner(io_max_bytes_per_second=100.0)
    memberships(world)
    world.clock.ms += 20_000
    world.cleaner.tick(world.clock.ms)
    world.pool.step()
    assert not world.pool.work  # the keys were read; now it waits
    world.cleaner.tick(world.clock.ms + 1)
    assert not world.pool.work
    world.cleaner.tick(world.clock.ms + 60_000)
    assert world.pool.work


def test_a_disabled_cleaner_does_nothing(world: World) -> None:
    """log.cleaner.enable=false."""
    world.cleaner = world.new_cleaner(enable=False)
    memberships(world)
    before = world.records()
    world.clean()
    assert world.records() == before


def test_the_loop_is_left_in_peace(world: World) -> None:
    """After every few hundred records the pool's thread rests, or the loop would get no turns."""
    for _ in range(20):
        world.put(*((f"k{i}", "v") for i in range(100)))
    world.roll()
    world.put(("x", "1"))
    world.clean()
    assert world.rest_count >= 10
