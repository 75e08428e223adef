"""Our batches are read by other libraries, theirs by us: the format is Kafka's, not ours."""

import warnings
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder

from odradek.records.builder import build_batch
from odradek.records.compression import Codec
from odradek.records.record import Record, read_records
from odradek.records.validation import AppendRules, check_batches

with warnings.catch_warnings():
    # kafka-python loads its schemas by a deprecated function of importlib.
    warnings.simplefilter("ignore")
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

NOW = 1_700_000_000_000
RECORDS = [
    Record(0, NOW, b"key", b"value" * 50, (("h", b"1"), ("n", None))),
    Record(1, NOW + 7, None, b"", ()),
    Record(2, NOW - 3, b"", None, ()),
]
READERS = {"aiokafka": AiokafkaBatch, "kafka-python": KafkaPythonBatch}
BUILDERS = {"aiokafka": AiokafkaBuilder, "kafka-python": KafkaPythonBuilder}
# Codecs that the other library can do with what the test environment has installed.
CODECS = [Codec.NONE, Codec.GZIP]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("library", list(READERS))
def test_others_read_ours(library: str, codec: Codec) -> None:
    """Offsets, timestamps, keys, values and headers are the same in the other library."""
    batch: Any = READERS[library](bytes(build_batch(RECORDS, codec=codec)))
    assert batch.validate_crc()
    seen = [
        Record(r.offset, r.timestamp, r.key, r.value, tuple((k, v) for k, v in r.headers))
        for r in batch
    ]
    assert seen == RECORDS


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("library", list(BUILDERS))
def test_we_read_others(library: str, codec: Codec) -> None:
    """A batch of the other library passes validation and gives the same records."""
    builder: Any = BUILDERS[library](
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=100_000,
    )
    for record in RECORDS:
        builder.append(
            record.offset, record.timestamp, record.key, record.value, list(record.headers)
        )
    batch = bytearray(builder.build())
    check_batches(memoryview(batch), AppendRules(), NOW)
    assert list(read_records(batch)) == RECORDS
