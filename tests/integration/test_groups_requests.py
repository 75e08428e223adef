"""Every version of the requests about groups and offsets answers as Apache Kafka's does, bad input included.

With `ODRADEK_TEST_BOOTSTRAP` they hold for Apache Kafka 4.3.1 too; that is where the codes come from.
"""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID, uuid4

import pytest

from odradek.errors import Err
from odradek.protocol.messages import delete_groups as dg
from odradek.protocol.messages import describe_groups as desc
from odradek.protocol.messages import find_coordinator as fc
from odradek.protocol.messages import list_groups as lg
from odradek.protocol.messages import metadata as md
from odradek.protocol.messages import offset_commit as oc
from odradek.protocol.messages import offset_delete as od
from odradek.protocol.messages import offset_fetch as of

NO_ID = UUID(int=0)
COMMIT_VERSIONS = range(2, 11)
FETCH_VERSIONS = range(1, 11)


class Asker:
    """Asks about groups in any version, topics by name or, where the version wants it, by id."""

    def __init__(self, wire: Any, topic: str) -> None:
        self.wire = wire
        self.topic = topic
        asked = md.MetadataRequest(topics=[md.MetadataRequestTopic(name=topic)])
        self.topic_id = wire.ask(asked, 12).topics[0].topic_id

    def commit(
        self,
        group: str,
        offset: int = 5,
        *,
        version: int = 9,
        partition: int = 0,
        topic: str | None = None,
        topic_id: UUID | None = None,
        note: str | None = None,
        **fields: Any,
    ) -> Err:
        request = oc.OffsetCommitRequest(
            group_id=group,
            topics=[
                oc.OffsetCommitRequestTopic(
                    name=topic or self.topic,
                    topic_id=topic_id or self.topic_id,
                    partitions=[
                        oc.OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_metadata=note,
                        )
                    ],
                )
            ],
            **fields,
        )
        (answer,) = self.wire.ask(request, version).topics
        assert (answer.name == (topic or self.topic)) == (version < 10)
        return Err(answer.partitions[0].error_code)

    def fetch(
        self,
        group: str,
        *,
        version: int = 9,
        partitions: list[int] | None = None,
        everything: bool = False,
        topic_id: UUID | None = None,
        **fields: Any,
    ) -> Any:
        """(error of the group, {partition: (offset, note, error)})."""
        indexes = [0, 1] if partitions is None else partitions
        if version >= 8:
            wanted = of.OffsetFetchRequestTopics(
                name=self.topic, topic_id=topic_id or self.topic_id, partition_indexes=indexes
            )
            member = {k: fields.pop(k) for k in ("member_id", "member_epoch") if k in fields}
            asked = of.OffsetFetchRequestGroup(
                group_id=group, topics=None if everything else [wanted], **member
            )
            (answer,) = self.wire.ask(
                of.OffsetFetchRequest(groups=[asked], **fields), version
            ).groups
        else:
            old = of.OffsetFetchRequestTopic(name=self.topic, partition_indexes=indexes)
            request = of.OffsetFetchRequest(
                group_id=group, topics=None if everything else [old], **fields
            )
            answer = self.wire.ask(request, version)
        found = {
            p.partition_index: (p.committed_offset, p.metadata, Err(p.error_code))
            for t in answer.topics
            for p in t.partitions
        }
        return Err(answer.error_code), found


@pytest.fixture
def group() -> str:
    return f"g-{uuid4().hex[:12]}"


@pytest.fixture
def ask(wire: Any, make_topic: Any, group: str) -> Asker:
    """With a coordinator that is ready for `group`."""
    asker = Asker(wire, make_topic(partitions=2))
    deadline = time.monotonic() + 30
    while asker.fetch(group)[0] is not Err.NONE:
        wire.ask(fc.FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return asker


# -- FindCoordinator ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator(ask: Asker, group: str, version: int) -> None:
    """One key, or from v4 several; a type that is not served says so for each key."""
    if version < 4:
        found = [ask.wire.ask(fc.FindCoordinatorRequest(key=group, key_type=0), version)]
    else:
        keys = [group, "", "other"]
        answer = ask.wire.ask(fc.FindCoordinatorRequest(key_type=0, coordinator_keys=keys), version)
        found = answer.coordinators
        assert [c.key for c in found] == keys
    assert {(c.error_code, c.node_id) for c in found} == {(0, 1)}
    assert all(c.port > 0 and c.host for c in found)


@pytest.mark.parametrize(("version", "key_type"), [(3, 9), (4, 9), (6, 2)])
def test_coordinators_of_unknown_types(ask: Asker, version: int, key_type: int) -> None:
    request = fc.FindCoordinatorRequest(key="k", key_type=key_type)
    if version >= 4:
        request = fc.FindCoordinatorRequest(coordinator_keys=["k"], key_type=key_type)
    answer = ask.wire.ask(request, version)
    (found,) = answer.coordinators if version >= 4 else (answer,)
    assert (found.error_code, found.node_id, found.port) == (Err.INVALID_REQUEST, -1, -1)


# -- OffsetCommit ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_commit_and_fetch_in_every_version(ask: Asker, group: str, version: int) -> None:
    assert ask.commit(group, 7, version=version, note="note") is Err.NONE
    expected = {0: (7, "note", Err.NONE), 1: (-1, "", Err.NONE)}
    for fetch_version in FETCH_VERSIONS:
        assert ask.fetch(group, version=fetch_version) == (Err.NONE, expected), fetch_version


@pytest.mark.parametrize("version", [2, 7, 9])
def test_commits_that_are_refused(ask: Asker, group: str, version: int) -> None:
    """Strangers, unknown topics and partitions, notes that are too long."""
    no_group = Err.GROUP_ID_NOT_FOUND if version >= 9 else Err.ILLEGAL_GENERATION
    member = {"generation_id_or_member_epoch": 3, "member_id": "m"}
    unknown = Err.UNKNOWN_TOPIC_OR_PARTITION
    assert ask.commit(group, version=version, **member) is no_group
    assert ask.commit(group, version=version) is Err.NONE
    assert ask.commit(group, version=version, **member) is Err.UNKNOWN_MEMBER_ID
    assert ask.commit(group, version=version, member_id="m") is Err.NONE
    assert ask.commit(group, version=version, topic="no-such-topic") is unknown
    assert ask.commit(group, version=version, partition=9) is unknown
    assert ask.commit(group, version=version, partition=-1) is unknown
    too_long = "n" * 4097
    assert ask.commit(group, version=version, note=too_long[1:]) is Err.NONE
    assert ask.commit(group, version=version, note=too_long) is Err.OFFSET_METADATA_TOO_LARGE


def test_topics_by_id(ask: Asker, group: str) -> None:
    """From v10; an id that nobody has is an error of its own."""
    stranger = uuid4()
    assert ask.commit(group, version=10, topic_id=stranger) is Err.UNKNOWN_TOPIC_ID
    assert ask.commit(group, version=10) is Err.NONE
    _, found = ask.fetch(group, version=10, topic_id=stranger, partitions=[0])
    assert found[0][0] == -1
    assert found[0][2] is Err.UNKNOWN_TOPIC_ID


# -- OffsetFetch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_what_is_not_there_is_no_error(ask: Asker, version: int) -> None:
    """An unknown group has committed nothing; nor has a partition that does not exist."""
    nothing = (-1, "", Err.NONE)
    assert ask.fetch("nobody", version=version) == (Err.NONE, {0: nothing, 1: nothing})
    assert ask.fetch("nobody", version=version, partitions=[9]) == (Err.NONE, {9: nothing})
    if version >= 2:
        assert ask.fetch("nobody", version=version, everything=True) == (Err.NONE, {})


@pytest.mark.parametrize("version", range(2, 11))
def test_everything_a_group_has(ask: Asker, group: str, version: int) -> None:
    ask.commit(group, 5)
    assert ask.fetch(group, version=version, everything=True) == (
        Err.NONE,
        {0: (5, "", Err.NONE)},
    )


def test_several_groups_at_once(ask: Asker, group: str) -> None:
    """From v8; each has its own answer, in the order of the request."""
    ask.commit(group, 5)
    wanted = [of.OffsetFetchRequestTopics(name=ask.topic, partition_indexes=[0])]
    request = of.OffsetFetchRequest(
        groups=[of.OffsetFetchRequestGroup(group_id=g, topics=wanted) for g in ("nobody", group)]
    )
    answer = ask.wire.ask(request, 8)
    told = [(g.group_id, g.topics[0].partitions[0].committed_offset) for g in answer.groups]
    assert told == [("nobody", -1), (group, 5)]


# -- ListGroups, DescribeGroups, DeleteGroups, OffsetDelete ---------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_list_groups(ask: Asker, group: str, version: int) -> None:
    ask.commit(group)

    def listed(**filters: list[str]) -> bool:
        answer = ask.wire.ask(lg.ListGroupsRequest(**filters), version)
        assert answer.error_code == 0
        return group in {g.group_id for g in answer.groups}

    assert listed()
    if version >= 4:
        assert listed(states_filter=["Empty", "Dead"])
        assert not listed(states_filter=["Stable"])
        assert not listed(states_filter=["NoSuchState"])
    if version >= 5:
        assert listed(types_filter=["Classic"])
        assert not listed(types_filter=["consumer"])


@pytest.mark.parametrize("version", range(7))
def test_describe_groups(ask: Asker, group: str, version: int) -> None:
    """A group that is not there is dead; from v6 it is an error with words."""
    ask.commit(group)
    answer = ask.wire.ask(
        desc.DescribeGroupsRequest(
            groups=[group, "nobody"], include_authorized_operations=version >= 3
        ),
        version,
    )
    told = {g.group_id: g for g in answer.groups}
    assert (told[group].group_state, told[group].members) == ("Empty", [])
    assert told["nobody"].group_state == "Dead"
    missing = Err.GROUP_ID_NOT_FOUND if version >= 6 else Err.NONE
    assert told["nobody"].error_code == missing
    assert (told[group].authorized_operations > 0) == (version >= 3)
    if version >= 6:
        assert told["nobody"].error_message == "Group nobody not found."


@pytest.mark.parametrize("version", range(3))
def test_delete_groups(ask: Asker, group: str, version: int) -> None:
    ask.commit(group)
    answer = ask.wire.ask(dg.DeleteGroupsRequest(groups_names=[group, "nobody"]), version)
    told = {r.group_id: Err(r.error_code) for r in answer.results}
    assert told == {group: Err.NONE, "nobody": Err.GROUP_ID_NOT_FOUND}
    assert ask.fetch(group)[1][0][0] == -1


def test_delete_offsets(ask: Asker, group: str) -> None:
    """By partition; a group that is not there is an error of the whole request."""

    def delete(group_id: str, *indexes: int) -> tuple[Err, dict[int, Err]]:
        partitions = [od.OffsetDeleteRequestPartition(partition_index=i) for i in indexes]
        topic = od.OffsetDeleteRequestTopic(name=ask.topic, partitions=partitions)
        answer = ask.wire.ask(od.OffsetDeleteRequest(group_id=group_id, topics=[topic]), 0)
        told = {p.partition_index: Err(p.error_code) for t in answer.topics for p in t.partitions}
        return Err(answer.error_code), told

    ask.commit(group, 5)
    ask.commit(group, 6, partition=1)
    told = {0: Err.NONE, 9: Err.UNKNOWN_TOPIC_OR_PARTITION}
    assert delete(group, 0, 9) == (Err.NONE, told)
    assert ask.fetch(group)[1] == {0: (-1, "", Err.NONE), 1: (6, "", Err.NONE)}
    assert delete("nobody", 0)[0] is Err.GROUP_ID_NOT_FOUND
    assert delete("", 0)[0] is Err.INVALID_GROUP_ID
