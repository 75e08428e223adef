"""Which leader epoch began at which offset: the lineage that followers and clients truncate by.

File `leader-epoch-checkpoint`: lines `0` (version), the count, then `<epoch> <start offset>` each. Both
rise from line to line. KIP-101 and KIP-279 say how it is asked; the entries are recovered from the
batches' own epochs above the recovery point.

The loop's thread owns it; the owner writes `encode()` to the file when `dirty`.
"""

from __future__ import annotations

from bisect import bisect_right

from odradek.storage.checkpoints import decode_lines, encode_lines
from odradek.types import NO_LEADER_EPOCH, NO_OFFSET, OffsetAndEpoch


class LeaderEpochs:
    """Epochs and their start offsets."""

    __slots__ = ("_epochs", "_starts", "dirty")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.dirty = False

    @property
    def latest(self) -> int:
        """The newest epoch; -1 when none is known."""
        return self._epochs[-1] if self._epochs else NO_LEADER_EPOCH

    def entries(self) -> list[OffsetAndEpoch]:
        """All epochs with their start offsets."""
        return [OffsetAndEpoch(s, e) for e, s in zip(self._epochs, self._starts, strict=True)]

    def assign(self, epoch: int, start_offset: int) -> bool:
        """The epoch began at this offset; older knowledge wins, contradicted entries go."""
        assert epoch >= 0
        assert start_offset >= 0
        if self._epochs and epoch <= self._epochs[-1]:
            return False
        while self._starts and self._starts[-1] >= start_offset:
            self._epochs.pop()  # that epoch wrote nothing
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.dirty = True
        return True

    def end_offset(self, epoch: int, log_end_offset: int) -> OffsetAndEpoch:
        """Where the newest epoch not above `epoch` ended, and which that is; (-1, -1) if unknown."""
        if epoch == self.latest and epoch >= 0:
            return OffsetAndEpoch(log_end_offset, epoch)
        if not self._epochs or epoch > self._epochs[-1] or epoch < 0:
            return OffsetAndEpoch(NO_OFFSET, NO_LEADER_EPOCH)
        i = bisect_right(self._epochs, epoch)
        if i == 0:
            # Older than all that is known: it can only have ended where the first one began.
            return OffsetAndEpoch(self._starts[0], epoch)
        return OffsetAndEpoch(self._starts[i], self._epochs[i - 1])

    def epoch_for(self, offset: int) -> int:
        """The epoch under which the record at this offset was written; -1 when unknown."""
        i = bisect_right(self._starts, offset)
        return self._epochs[i - 1] if i else NO_LEADER_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that began at or after the log's new end."""
        while self._starts and self._starts[-1] >= end_offset:
            self._epochs.pop()
            self._starts.pop()
            self.dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """The log begins here now: the epoch in force keeps its place, those before it go."""
        i = bisect_right(self._starts, start_offset) - 1
        if i >= 0 and self._starts[i] < start_offset:
            del self._epochs[:i]
            del self._starts[:i]
            self._starts[0] = start_offset
            self.dirty = True

    def clear(self) -> None:
        """Forget all."""
        if self._epochs:
            self._epochs.clear()
            self._starts.clear()
            self.dirty = True

    def encode(self) -> bytes:
        """The content of the file."""
        return encode_lines(f"{e} {s}" for e, s in zip(self._epochs, self._starts, strict=True))

    @classmethod
    def decode(cls, content: bytes) -> LeaderEpochs:
        """Read the file; ValueError when it is not whole or does not rise."""
        epochs = cls()
        for line in decode_lines(content):
            epoch, start_offset = (int(field) for field in line.split(" "))
            if epoch < 0 or start_offset < 0:
                raise ValueError(f"leader epoch {epoch} at offset {start_offset}")
            if epochs._epochs and (
                epoch <= epochs._epochs[-1] or start_offset < epochs._starts[-1]
            ):
                raise ValueError(f"leader epoch {epoch} after epoch {epochs._epochs[-1]}")
            epochs._epochs.append(epoch)
            epochs._starts.append(start_offset)
        return epochs
