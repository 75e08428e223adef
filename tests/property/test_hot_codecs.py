"""The hand-written Produce and Fetch replies agree byte for byte with the declared messages."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.codec import encode
from odradek.protocol.hot import fetch as hot_fetch
from odradek.protocol.hot import produce as hot_produce
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

names = st.text(min_size=1, max_size=200)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
small = st.integers(0, 3)
produce_versions = st.sampled_from(ProduceResponse.VERSIONS)
fetch_versions = st.sampled_from(FetchResponse.VERSIONS)


@given(st.data())
def test_produce_success_encodes_as_declared(data: st.DataObject) -> None:
    """The template reply has the bytes of the declared ProduceResponse."""
    version = data.draw(produce_versions)
    done = [
        (
            data.draw(st.binary(min_size=16, max_size=16)) if version >= 13 else data.draw(names),
            [tuple(data.draw(t) for t in (int32s, int64s, int64s, int64s)) for _ in range(n)],
        )
        for n in data.draw(st.lists(small, max_size=3))
    ]
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                **({"topic_id": UUID(bytes=t)} if version >= 13 else {"name": t}),
                partition_responses=[
                    PartitionProduceResponse(
                        index=index,
                        error_code=0,
                        base_offset=base,
                        log_append_time_ms=time,
                        log_start_offset=start if version >= 5 else -1,
                    )
                    for index, base, time, start in partitions
                ],
            )
            for t, partitions in done
        ]
    )
    assert hot_produce.encode_success(version, done) == encode(response, version)


@st.composite
def partition_heads(draw: st.DrawFn, version: int) -> hot_fetch.PartitionHead:
    pairs = st.tuples(int64s, int64s)
    flexible = version >= 12
    return hot_fetch.PartitionHead(
        draw(int32s),
        draw(st.integers(-1, 130)),
        draw(int64s),
        draw(int64s),
        draw(int64s) if version >= 5 else -1,
        draw(st.none() | st.lists(pairs, max_size=3)),
        draw(st.integers(0, 400)),
        draw(int32s) if version >= 11 else -1,
        draw(st.none() | st.tuples(int32s, int64s)) if flexible else None,
        draw(st.none() | st.tuples(int32s, int32s)) if flexible else None,
    )


@given(st.data())
def test_fetch_responses_encode_as_declared(data: st.DataObject) -> None:
    """Pieces around records make up the bytes of the declared FetchResponse."""
    version = data.draw(fetch_versions)
    error_code = data.draw(st.integers(-1, 130)) if version >= 7 else 0
    session_id = data.draw(int32s) if version >= 7 else 0
    topics = [
        (
            data.draw(st.binary(min_size=16, max_size=16)) if version >= 13 else data.draw(names),
            data.draw(st.lists(partition_heads(version), max_size=3)),
        )
        for _ in range(data.draw(small))
    ]
    pieces = [hot_fetch.encode_head(version, error_code, session_id, len(topics))]
    for topic, heads in topics:
        pieces.append(hot_fetch.encode_topic(version, topic, len(heads)))
        for head in heads:
            before, after = hot_fetch.encode_partition(version, head)
            pieces += [before, bytes(head.records_size), after]
        pieces.append(hot_fetch.topic_end(version))
    pieces.append(hot_fetch.topic_end(version))
    declared = FetchResponse(
        error_code=error_code,
        session_id=session_id,
        responses=[
            FetchableTopicResponse(
                **({"topic_id": UUID(bytes=t)} if version >= 13 else {"topic": t}),
                partitions=[_declared(head) for head in heads],
            )
            for t, heads in topics
        ],
    )
    assert b"".join(pieces) == encode(declared, version)


def _declared(head: hot_fetch.PartitionHead) -> PartitionData:
    data = PartitionData(
        partition_index=head.partition_index,
        error_code=head.error_code,
        high_watermark=head.high_watermark,
        last_stable_offset=head.last_stable_offset,
        log_start_offset=head.log_start_offset,
        aborted_transactions=None
        if head.aborted is None
        else [AbortedTransaction(producer_id=p, first_offset=o) for p, o in head.aborted],
        preferred_read_replica=head.preferred_read_replica,
        records=bytes(head.records_size),
    )
    if head.diverging_epoch is not None:
        epoch, end_offset = head.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    if head.current_leader is not None:
        leader_id, leader_epoch = head.current_leader
        data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return data
