"""Calls about consumer groups: list, describe, delete; their offsets: fetch, alter, delete.

A group is known by its coordinator only, so requests go there; listing asks every broker. Which
protocol a group's members speak need not be known: it is first described as a consumer group, and
those that are none as classic groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from odradek.client.calls import Calls
from odradek.client.failures import check, error_of
from odradek.client.group_values import (
    CommittedOffset,
    GroupDescription,
    ListedGroup,
    classic_group,
    consumer_group,
)
from odradek.client.offsets import by_topic
from odradek.client.targets import Coordinator, CoordinatorKind, Node
from odradek.errors import ApiError, Err
from odradek.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from odradek.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from odradek.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from odradek.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from odradek.types import NO_OFFSET, TopicPartition

_STATES_SINCE: Final = 4
_TYPES_SINCE: Final = 5
# OffsetFetch: several groups in one request (brokers from 3.0).
_MANY_GROUPS_SINCE: Final = 8
# OffsetCommit and OffsetFetch: later versions know topics by id, but offsets outlive their topics,
# and administrators think in names.
_NAMES_UNTIL: Final = 9
# Before DescribeGroups said that there is no such group, it showed one in this state.
_DEAD: Final = "Dead"
_NOT_OF_THIS_PROTOCOL: Final = (Err.GROUP_ID_NOT_FOUND, Err.UNSUPPORTED_VERSION)


class GroupCalls(Calls):
    """Consumer groups and their offsets."""

    async def list_groups(
        self, *, states: Collection[str] = (), types: Collection[str] = ()
    ) -> list[ListedGroup]:
        """All groups (in one of these states, of one of these types), sorted by id."""

        async def ask(node_id: int) -> list[ListedGroup]:
            reply = await self._router.call(
                ListGroupsRequest(states_filter=list(states), types_filter=list(types)),
                ListGroupsResponse,
                to=Node(node_id),
                min_version=_TYPES_SINCE if types else _STATES_SINCE if states else 0,
            )
            check(reply.error_code)
            return [
                ListedGroup(
                    row.group_id, row.group_type, row.protocol_type, row.group_state, node_id
                )
                for row in reply.groups
            ]

        found: dict[str, ListedGroup] = {}
        for listed in (await self._from_every_broker(ask)).values():
            if isinstance(listed, ApiError):
                raise listed
            found.update((group.group_id, group) for group in listed)
        return [found[group_id] for group_id in sorted(found)]

    async def describe_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, GroupDescription | ApiError]:
        """State and members of groups of either protocol."""
        groups = await self._by_coordinator(
            "ConsumerGroupDescribe", CoordinatorKind.GROUP, group_ids, self._describe_consumer
        )
        others = [
            group_id
            for group_id, outcome in groups.items()
            if isinstance(outcome, ApiError) and outcome.err in _NOT_OF_THIS_PROTOCOL
        ]
        classic = await self._by_coordinator(
            "DescribeGroups", CoordinatorKind.GROUP, others, self._describe_classic
        )
        return {**groups, **classic}

    async def _describe_consumer(
        self, node_id: int, group_ids: list[str]
    ) -> dict[str, GroupDescription | ApiError]:
        reply = await self._router.call(
            ConsumerGroupDescribeRequest(group_ids=group_ids),
            ConsumerGroupDescribeResponse,
            to=Node(node_id),
        )
        return {
            row.group_id: error_of(row.error_code, row.error_message)
            or consumer_group(row, node_id)
            for row in reply.groups
        }

    async def _describe_classic(
        self, node_id: int, group_ids: list[str]
    ) -> dict[str, GroupDescription | ApiError]:
        reply = await self._router.call(
            DescribeGroupsRequest(groups=group_ids), DescribeGroupsResponse, to=Node(node_id)
        )
        return {
            row.group_id: _no_such_group(row.group_id)
            if row.error_code == Err.GROUP_ID_NOT_FOUND or row.group_state == _DEAD
            else error_of(row.error_code, row.error_message) or classic_group(row, node_id)
            for row in reply.groups
        }

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ApiError | None]:
        """Delete groups without members, with their offsets."""

        async def ask(node_id: int, theirs: list[str]) -> dict[str, ApiError | None]:
            reply = await self._router.call(
                DeleteGroupsRequest(groups_names=theirs),
                DeleteGroupsResponse,
                to=Node(node_id),
                repeatable=False,
            )
            return {row.group_id: error_of(row.error_code) for row in reply.results}

        return await self._by_coordinator("DeleteGroups", CoordinatorKind.GROUP, group_ids, ask)

    async def group_offsets(
        self, group_ids: Iterable[str], *, require_stable: bool = False
    ) -> dict[str, dict[TopicPartition, CommittedOffset] | ApiError]:
        """Every offset that groups have committed; none for a group that does not exist."""

        async def ask(
            node_id: int, theirs: list[str]
        ) -> dict[str, dict[TopicPartition, CommittedOffset] | ApiError]:
            reply = await self._router.call(
                OffsetFetchRequest(
                    groups=[
                        OffsetFetchRequestGroup(group_id=group_id, topics=None)
                        for group_id in theirs
                    ],
                    require_stable=require_stable,
                ),
                OffsetFetchResponse,
                to=Node(node_id),
                min_version=_MANY_GROUPS_SINCE,
                max_version=_NAMES_UNTIL,
            )
            return {
                group.group_id: error_of(group.error_code)
                or {
                    TopicPartition(topic.name, row.partition_index): CommittedOffset(
                        row.committed_offset, row.committed_leader_epoch, row.metadata
                    )
                    for topic in group.topics
                    for row in topic.partitions
                    if not row.error_code and row.committed_offset != NO_OFFSET
                }
                for group in reply.groups
            }

        return await self._by_coordinator("OffsetFetch", CoordinatorKind.GROUP, group_ids, ask)

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, ApiError | None]:
        """Commit for a group without members; one that does not exist comes to be."""

        async def attempt(
            pending: list[TopicPartition],
        ) -> dict[TopicPartition, ApiError | None]:
            request = OffsetCommitRequest(
                group_id=group_id,
                topics=[
                    OffsetCommitRequestTopic(
                        name=topic,
                        partitions=[
                            OffsetCommitRequestPartition(
                                partition_index=index,
                                committed_offset=offsets[TopicPartition(topic, index)],
                                committed_metadata="",
                            )
                            for index in indexes
                        ],
                    )
                    for topic, indexes in by_topic(pending).items()
                ],
            )
            reply = await self._router.call(
                request, OffsetCommitResponse, to=Coordinator(group_id), max_version=_NAMES_UNTIL
            )
            return {
                TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
                for topic in reply.topics
                for row in topic.partitions
            }

        return await self._router.call_each("OffsetCommit", offsets, attempt)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ApiError | None]:
        """Forget where a group is in partitions that none of its members reads."""

        async def attempt(
            pending: list[TopicPartition],
        ) -> dict[TopicPartition, ApiError | None]:
            request = OffsetDeleteRequest(
                group_id=group_id,
                topics=[
                    OffsetDeleteRequestTopic(
                        name=topic,
                        partitions=[
                            OffsetDeleteRequestPartition(partition_index=index) for index in indexes
                        ],
                    )
                    for topic, indexes in by_topic(pending).items()
                ],
            )
            reply = await self._router.call(request, OffsetDeleteResponse, to=Coordinator(group_id))
            if reply.error_code == Err.GROUP_ID_NOT_FOUND:
                raise _no_such_group(group_id)
            check(reply.error_code)
            return {
                TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
                for topic in reply.topics
                for row in topic.partitions
            }

        return await self._router.call_each("OffsetDelete", partitions, attempt)


def _no_such_group(group_id: str) -> ApiError:
    return ApiError(Err.GROUP_ID_NOT_FOUND, f"Consumer group '{group_id}' does not exist.")
