"""What a controller decision is: the records to commit, and the reply to release after that."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from odradek.errors import ApiError, Err
from odradek.metadata.records import MetadataRecord

R = TypeVar("R")


class Outcome(NamedTuple, Generic[R]):
    """Records and a reply. Without records there is nothing to wait for."""

    records: tuple[MetadataRecord, ...]
    reply: R


class Verdict(NamedTuple):
    """How one item of a request fared."""

    err: Err = Err.NONE
    message: str | None = None

    @classmethod
    def of(cls, error: ApiError) -> Verdict:
        """The verdict that an operating error stands for."""
        return cls(error.err, error.message)


OK = Verdict()
