"""The error table of the wire: one row per code, with whether a client may retry and our own words.

`Err` is an int, so it goes into an `error_code` field as it is. Inside the broker an operating
error is an `ApiError`; `server.dispatch` alone turns it into a reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class Err(IntEnum):
    """Kafka's error codes. `retriable`: the same request may succeed later. `text`: what to do."""

    retriable: bool
    text: str

    def __new__(cls, code: int, retriable: bool = False, text: str = "") -> Err:
        """Build the member: an int with two more facts."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.text = text
        return member

    UNKNOWN_SERVER_ERROR = -1, False, "The broker failed unexpectedly; its log has the details."
    NONE = 0, False, "No error."
    OFFSET_OUT_OF_RANGE = 1, False, "No such offset in this log; reset to earliest or latest."
    CORRUPT_MESSAGE = 2, True, "A batch failed its CRC or its structure is broken; send it again."
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "This broker knows no such topic or partition."
    INVALID_FETCH_SIZE = 4, False, "The fetch size asked for is not allowed."
    LEADER_NOT_AVAILABLE = 5, True, "The partition has no leader now; refresh metadata and retry."
    NOT_LEADER_OR_FOLLOWER = 6, True, "This broker does not hold that partition; refresh metadata."
    REQUEST_TIMED_OUT = 7, True, "Not done within the time allowed; it may still happen."
    BROKER_NOT_AVAILABLE = 8, False, "The broker asked for is not running."
    REPLICA_NOT_AVAILABLE = 9, True, "The replica asked for is not usable here; refresh metadata."
    MESSAGE_TOO_LARGE = 10, False, "The batch exceeds max.message.bytes; send smaller batches."
    STALE_CONTROLLER_EPOCH = 11, False, "A newer controller has taken over."
    OFFSET_METADATA_TOO_LARGE = 12, False, "The text stored with the offset is too long."
    NETWORK_EXCEPTION = 13, True, "The connection was lost before an answer came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "The coordinator is loading its state; retry soon."
    COORDINATOR_NOT_AVAILABLE = 15, True, "No coordinator is ready yet; retry soon."
    NOT_COORDINATOR = 16, True, "Another broker coordinates this; look the coordinator up again."
    INVALID_TOPIC_EXCEPTION = 17, False, "Not a legal topic name, or a topic closed to clients."
    RECORD_LIST_TOO_LARGE = 18, False, "The batches together do not fit into one segment."
    NOT_ENOUGH_REPLICAS = 19, True, "Fewer replicas in sync than min.insync.replicas; not written."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, True, "Written, but too few replicas were in sync."
    INVALID_REQUIRED_ACKS = 21, False, "acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, False, "The group has moved on to another generation; join again."
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "No assignor or protocol type shared with the group."
    INVALID_GROUP_ID = 24, False, "The group id is empty or not allowed here."
    UNKNOWN_MEMBER_ID = 25, False, "The group does not know this member; join again."
    INVALID_SESSION_TIMEOUT = 26, False, "The session timeout is outside the broker's bounds."
    REBALANCE_IN_PROGRESS = 27, False, "The group is rebalancing; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "The offsets to commit are too large together."
    TOPIC_AUTHORIZATION_FAILED = 29, False, "The principal may not do this with the topic."
    GROUP_AUTHORIZATION_FAILED = 30, False, "The principal may not do this with the group."
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "The principal may not do this with the cluster."
    INVALID_TIMESTAMP = 32, False, "A record's timestamp is outside what the topic accepts."
    UNSUPPORTED_SASL_MECHANISM = 33, False, "This SASL mechanism is not enabled; use a listed one."
    ILLEGAL_SASL_STATE = 34, False, "This request does not fit the state of the SASL exchange."
    UNSUPPORTED_VERSION = 35, False, "This version of the request is not served; ask ApiVersions."
    TOPIC_ALREADY_EXISTS = 36, False, "There is a topic of this name already."
    INVALID_PARTITIONS = 37, False, "The partition count must be above zero, and may only grow."
    INVALID_REPLICATION_FACTOR = 38, False, "Must be above zero and not more than the live brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, False, "The replicas name unknown or repeated brokers."
    INVALID_CONFIG = 40, False, "A setting is unknown or its value is not allowed."
    NOT_CONTROLLER = 41, True, "Another broker is the controller; refresh metadata, ask that one."
    INVALID_REQUEST = 42, False, "The request contradicts itself or cannot be served in this state."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "The log's message format cannot do this."
    POLICY_VIOLATION = 44, False, "A policy of this cluster forbids the request."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "A batch is missing before this one of the producer."
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "This batch was written before."
    INVALID_PRODUCER_EPOCH = 47, False, "A newer producer with the same id has taken over."
    INVALID_TXN_STATE = 48, False, "The transaction is in a state that does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, False, "The transactional id has another producer id now."
    INVALID_TRANSACTION_TIMEOUT = 50, False, "Longer than the broker's transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, True, "The last transaction is still being completed; retry soon."
    TRANSACTION_COORDINATOR_FENCED = 52, False, "A newer transaction coordinator has taken over."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "The principal may not use it."
    SECURITY_DISABLED = 54, False, "No authorizer is configured on this cluster."
    OPERATION_NOT_ATTEMPTED = 55, False, "Not tried, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, True, "The log directory failed; another replica may answer."
    LOG_DIR_NOT_FOUND = 57, False, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, False, "The credentials were not accepted."
    UNKNOWN_PRODUCER_ID = 59, False, "The log holds nothing of this producer any more."
    REASSIGNMENT_IN_PROGRESS = 60, False, "The partition is being moved already."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "Delegation tokens are turned off here."
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "The token belongs to someone else."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, False, "Not on this kind of connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "The principal may not do it."
    DELEGATION_TOKEN_EXPIRED = 66, False, "The delegation token has run out; get a new one."
    INVALID_PRINCIPAL_TYPE = 67, False, "The principal's type is not one that can be used here."
    NON_EMPTY_GROUP = 68, False, "The group still has members; stop them first."
    GROUP_ID_NOT_FOUND = 69, False, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "The fetch session is gone; start a new one."
    INVALID_FETCH_SESSION_EPOCH = 71, True, "Out of step in the fetch session; start a new one."
    LISTENER_NOT_FOUND = 72, True, "The leader has no listener of the name used by this connection."
    TOPIC_DELETION_DISABLED = 73, False, "Deleting topics is off (delete.topic.enable)."
    FENCED_LEADER_EPOCH = 74, True, "The leader epoch sent is too old; refresh metadata."
    UNKNOWN_LEADER_EPOCH = 75, True, "The leader epoch sent is newer than this broker's; retry."
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "This codec cannot be used with this version."
    STALE_BROKER_EPOCH = 77, False, "The broker has registered again since; use its new epoch."
    OFFSET_NOT_AVAILABLE = 78, True, "The new leader does not know its high watermark yet; retry."
    MEMBER_ID_REQUIRED = 79, False, "Join again with the member id given in this answer."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "The first replica is not able to lead."
    GROUP_MAX_SIZE_REACHED = 81, False, "The group is full (group.max.size)."
    FENCED_INSTANCE_ID = 82, False, "Another member has joined with the same group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "No replica that may lead is alive."
    ELECTION_NOT_NEEDED = 84, True, "The partition has the leader asked for already."
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "The partition is not being moved."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "The group still reads the topic; its offsets stay."
    INVALID_RECORD = 87, False, "A record breaks a rule of the topic; the batch was refused."
    UNSTABLE_OFFSET_COMMIT = 88, True, "An open transaction holds offsets back; retry."
    THROTTLING_QUOTA_EXCEEDED = 89, True, "Over the quota; wait for the throttle time, then retry."
    PRODUCER_FENCED = 90, False, "A newer producer uses the same transactional id."
    RESOURCE_NOT_FOUND = 91, False, "There is nothing of that name."
    DUPLICATE_RESOURCE = 92, False, "The same thing is named twice in the request."
    UNACCEPTABLE_CREDENTIAL = 93, False, "The credential breaks a rule (e.g. few iterations)."
    INCONSISTENT_VOTER_SET = 94, False, "Sender and receiver disagree on who votes."
    INVALID_UPDATE_VERSION = 95, False, "The version of this update is not allowed."
    FEATURE_UPDATE_FAILED = 96, False, "The feature levels could not be changed."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, False, "The forwarded principal cannot be read."
    SNAPSHOT_NOT_FOUND = 98, False, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, False, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, True, "No topic has this id here; refresh metadata."
    DUPLICATE_BROKER_REGISTRATION = 101, False, "A live broker holds this id."
    BROKER_ID_NOT_REGISTERED = 102, False, "No broker is registered under this id."
    INCONSISTENT_TOPIC_ID = 103, True, "The log on disk has another topic id than the request."
    INCONSISTENT_CLUSTER_ID = 104, False, "The request is meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "The coordinator knows no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "A fetch session uses names or ids, not both."
    INELIGIBLE_REPLICA = 107, False, "The replica may not join the in-sync set now."
    NEW_LEADER_ELECTED = 108, False, "The change was made, and the leader is another broker now."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "The offset is only in remote storage."
    FENCED_MEMBER_EPOCH = 110, False, "The coordinator fenced this epoch; join again."
    UNRELEASED_INSTANCE_ID = 111, False, "The group.instance.id is in use by a live member."
    UNSUPPORTED_ASSIGNOR = 112, False, "The broker has no assignor of this name."
    STALE_MEMBER_EPOCH = 113, False, "The epoch is old; take the next heartbeat's and retry."
    MISMATCHED_ENDPOINT_TYPE = 114, False, "Asked a broker for controllers, or the reverse."
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "This endpoint type is not served."
    UNKNOWN_CONTROLLER_ID = 116, False, "No controller is registered under this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "The telemetry subscription changed; get it again."
    TELEMETRY_TOO_LARGE = 118, False, "The telemetry payload is over the limit; send less."
    INVALID_REGISTRATION = 119, False, "The broker's registration is not acceptable."
    TRANSACTION_ABORTABLE = 120, False, "The transaction cannot commit; abort it and go on."
    INVALID_RECORD_STATE = 121, False, "The record's delivery state does not allow this."
    SHARE_SESSION_NOT_FOUND = 122, True, "The share session is gone; start a new one."
    INVALID_SHARE_SESSION_EPOCH = 123, True, "Out of step in the share session; start a new one."
    FENCED_STATE_EPOCH = 124, False, "A newer state epoch has taken over the share partition."
    INVALID_VOTER_KEY = 125, False, "The voter's id and directory do not match this node's."
    DUPLICATE_VOTER = 126, False, "This voter is in the set already."
    VOTER_NOT_FOUND = 127, False, "This voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, False, "The subscription's pattern is not valid RE2."
    REBOOTSTRAP_REQUIRED = 129, False, "Start again from the bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, False, "The topology sent is not usable."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, False, "The topology's epoch is not allowed."
    STREAMS_TOPOLOGY_FENCED = 132, False, "A newer topology epoch is in use."
    SHARE_SESSION_LIMIT_REACHED = 133, True, "The broker holds as many share sessions as it may."


class RecordError(NamedTuple):
    """One bad record of a batch, by its place in the batch (KIP-467)."""

    batch_index: int
    message: str | None


class ApiError(Exception):
    """An operating error that a client is told about: a code, and words that say what to do."""

    def __init__(
        self, err: Err, message: str | None = None, record_errors: Sequence[RecordError] = ()
    ) -> None:
        super().__init__(message or err.text)
        self.err = err
        self.message = message or err.text
        self.record_errors = tuple(record_errors)
