"""ConsumerGroupHeartbeat: what a request must look like, and what it says about its member.

Null (or -1) in a heartbeat means "as before". A member that joins says everything, and an empty member id
is made up for it (version 0 only; later the client makes its own, KIP-1082).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from odradek.coordinators.groups.consumer_members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    Member,
    Target,
    owns_only,
)
from odradek.errors import ApiError, Err
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_FIRST_VERSION_WITH_OWN_ID = 1


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Collection[str]
) -> None:
    """ApiError(INVALID_REQUEST, UNSUPPORTED_ASSIGNOR) when no broker could make sense of it."""
    epoch = request.member_epoch
    needs_id = api_version >= _FIRST_VERSION_WITH_OWN_ID or epoch > 0 or epoch == LEAVE_EPOCH
    _refuse_if(needs_id and not request.member_id.strip(), "the member id is empty")
    _refuse_if(not request.group_id.strip(), "the group id is empty")
    _refuse_if(_is_blank(request.instance_id), "the instance id is empty")
    _refuse_if(_is_blank(request.rack_id), "the rack id is empty")
    if epoch == JOIN_EPOCH:
        _refuse_if(request.rebalance_timeout_ms == -1, "a member joins with its rebalance time-out")
        _refuse_if(
            request.topic_partitions is None or bool(request.topic_partitions),
            "a member joins without partitions: send an empty list",
        )
        _refuse_if(
            request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
            "a member joins with topic names or a pattern",
        )
    elif epoch == LEAVE_STATIC_EPOCH:
        _refuse_if(request.instance_id is None, "only a static member leaves for a while")
    else:
        _refuse_if(epoch < LEAVE_STATIC_EPOCH, f"{epoch} is not a member epoch")
    assignor = request.server_assignor
    if assignor is not None and assignor not in assignors:
        raise ApiError(
            Err.UNSUPPORTED_ASSIGNOR,
            f"this broker has no assignor {assignor}, only {', '.join(assignors)}",
        )


def updated_member(
    member: Member, request: ConsumerGroupHeartbeatRequest, client_id: str, client_host: str
) -> Member:
    """The member with all that its request says; the same object when that is nothing new."""
    names = request.subscribed_topic_names
    regex = request.subscribed_topic_regex
    if (
        names is None
        and regex is None
        and request.rebalance_timeout_ms == -1
        and request.server_assignor is None
        and request.rack_id is None
        and request.instance_id in (None, member.instance_id)
        and (member.client_id, member.client_host, member.classic) == (client_id, client_host, None)
    ):
        return member  # Nearly every heartbeat.
    updated = replace(
        member,
        instance_id=_or(request.instance_id, member.instance_id),
        rack_id=_or(request.rack_id, member.rack_id),
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms
            if request.rebalance_timeout_ms != -1
            else member.rebalance_timeout_ms
        ),
        server_assignor=_or(request.server_assignor, member.server_assignor),
        subscribed_topic_names=frozenset(names)
        if names is not None
        else member.subscribed_topic_names,
        subscribed_topic_regex=regex if regex is not None else member.subscribed_topic_regex,
        client_id=client_id,
        client_host=client_host,
        classic=None,
    )
    return member if updated == member else updated


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the member says everything: it has lost the last answer, so it needs all of the next."""
    return (
        request.rebalance_timeout_ms != -1
        and request.topic_partitions is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )


def check_epoch(member: Member, epoch: int, owned: Target | None) -> None:
    """ApiError(FENCED_MEMBER_EPOCH) unless the member may speak at this epoch.

    It may join again at any time. It may also be one epoch behind: then the last answer was lost, and as
    long as it owns nothing that it should not have, nothing has happened.
    """
    if epoch in (JOIN_EPOCH, member.member_epoch):
        return
    if epoch > member.member_epoch:
        raise ApiError(
            Err.FENCED_MEMBER_EPOCH,
            f"epoch {epoch} is ahead of the coordinator's {member.member_epoch}: "
            "give up all partitions and join again",
        )
    if epoch != member.previous_member_epoch or not owns_only(owned, member.assigned):
        raise ApiError(
            Err.FENCED_MEMBER_EPOCH,
            f"epoch {epoch} is behind the coordinator's {member.member_epoch}: "
            "give up all partitions and join again",
        )


def _refuse_if(wrong: bool, what: str) -> None:
    if wrong:
        raise ApiError(Err.INVALID_REQUEST, what)


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()


def _or(value: str | None, otherwise: str | None) -> str | None:
    return value if value is not None else otherwise
