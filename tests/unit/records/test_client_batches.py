"""Batches captured from real clients are read, whatever frame their compressor writes.

Captured from the log of an Apache Kafka 4.3.1 broker. `java-*`: its console producer; `rdk-*`:
librdkafka 2.16 through confluent-kafka. Three records each.
"""

from base64 import b64decode

import pytest

from odradek.records.batch import crc_of, read_header
from odradek.records.compression import Codec
from odradek.records.record import read_records

BATCHES = {
    "java-gzip": (
        "AAAAAAAAAAAAAAB1AAAAAAKu42t0AAEAAAACAAABod1OYEMAAAGh3U5gUwAAAAAAAAAGAAAAAAAAAAAAAx+LCAAA"
        "AAAAAP9LYWBg4MpOrdQ18CtLzClN1TVQIEAzpDDIMYG1GEK1GCoQoIFaFFjAWoygWowUCNAMAINK/1SZAAAA"
    ),
    "java-lz4": (
        "AAAAAAAAAAAAAACGAAAAAAJjZfd0AAMAAAACAAABod1OackAAAGh3U5p/QAAAAAAAAAIAAAAAAAAAAAAAwQiTRhg"
        "QIJGAAAA/wRkAAAACmtleS0wTnZhbHVlLTAgCAAMUQBkAGYCMwATMTMAEzEzAA8IAAZRAGQAaAQzABMyMwATMjMA"
        "DwgAAlB1ZS0yAAAAAAA="
    ),
    "java-none": (
        "AAAAAAAAAAAAAADKAAAAAAIfMZvQAAAAAAACAAABod1OW/wAAAGh3U5cCAAAAAAAAAAFAAAAAAAAAAAAA2QAAAAK"
        "a2V5LTBOdmFsdWUtMCB2YWx1ZS0wIHZhbHVlLTAgdmFsdWUtMCB2YWx1ZS0wAGQAFgIKa2V5LTFOdmFsdWUtMSB2"
        "YWx1ZS0xIHZhbHVlLTEgdmFsdWUtMSB2YWx1ZS0xAGQAGAQKa2V5LTJOdmFsdWUtMiB2YWx1ZS0yIHZhbHVlLTIg"
        "dmFsdWUtMiB2YWx1ZS0yAA=="
    ),
    "java-snappy": (
        "AAAAAAAAAAAAAACGAAAAAAJVojj6AAIAAAACAAABod1OZPsAAAGh3U5lJAAAAAAAAAAHAAAAAAAAAAAAA4JTTkFQ"
        "UFkAAAAAAQAAAAEAAABBmQFIZAAAAAprZXktME52YWx1ZS0wIHoIABAAZABQAgUzADENMwAxDTNiCAAQAGQAUgQF"
        "MwAyDTMAMg0zYggAAAA="
    ),
    "java-zstd": (
        "AAAAAAAAAAAAAAByAAAAAAJheZMPAAQAAAACAAABod1ObscAAAGh3U5u+QAAAAAAAAAJAAAAAAAAAAAAAyi1L/0A"
        "WKwBAPBkAAAACmtleS0wTnZhbHVlLTAgAGQAZAIxMQQyMgAKAGAByAeSgRawAlgA8oFkVrXvmmIHAQAA"
    ),
    "rdk-gzip": (
        "AAAAAAAAAAAAAACAAAAAAALbbEH8AAEAAAACAAABod1OUoMAAAGh3U5SgwAAAAAAAAABAAAAAAAAAAAAAx+LCAAA"
        "AAAAAAM7xsjAwMCVnVqpa7CAsSwxpzRV10CBWjQLUwaTIVMe4zGgJUxgSwxhlhgqUItGtoQFbIkRzBIjBWrRMEsA"
        "Dt1U1y8BAAA="
    ),
    "rdk-lz4": (
        "AAAAAAAAAAAAAACRAAAAAAKeVO02AAMAAAACAAABod1OUoMAAAGh3U5SgwAAAAAAAAADAAAAAAAAAAAAAwQiTRhg"
        "QIJRAAAA/wbGAQAAAAprZXktMKABdmFsdWUtMCAIADWABAJoAjECbgFlABECZQAUMWUAEzFlAA8IAC8IZQARBGUA"
        "FDJlABMyZQAPCAAvgAQCaAIxAm4BAAAAAA=="
    ),
    "rdk-none": (
        "AAAAAAAAAAAAAAFgAAAAAALfFGGwAAAAAAACAAABod1OUoMAAAGh3U5SgwAAAAAAAAAAAAAAAAAAAAAAA8YBAAAA"
        "CmtleS0woAF2YWx1ZS0wIHZhbHVlLTAgdmFsdWUtMCB2YWx1ZS0wIHZhbHVlLTAgdmFsdWUtMCB2YWx1ZS0wIHZh"
        "bHVlLTAgdmFsdWUtMCB2YWx1ZS0wIAQCaAIxAm4BxgEAAAIKa2V5LTGgAXZhbHVlLTEgdmFsdWUtMSB2YWx1ZS0x"
        "IHZhbHVlLTEgdmFsdWUtMSB2YWx1ZS0xIHZhbHVlLTEgdmFsdWUtMSB2YWx1ZS0xIHZhbHVlLTEgBAJoAjECbgHG"
        "AQAABAprZXktMqABdmFsdWUtMiB2YWx1ZS0yIHZhbHVlLTIgdmFsdWUtMiB2YWx1ZS0yIHZhbHVlLTIgdmFsdWUt"
        "MiB2YWx1ZS0yIHZhbHVlLTIgdmFsdWUtMiAEAmgCMQJuAQ=="
    ),
    "rdk-snappy": (
        "AAAAAAAAAAAAAACHAAAAAAIvyx48AAIAAAACAAABod1OUoMAAAGh3U5SgwAAAAAAAAACAAAAAAAAAAAAA68CUMYB"
        "AAAACmtleS0woAF2YWx1ZS0wIP4IABEIHAQCaAIxAm4BAWUAAgVlADERZQAxDWXuCAAJCC5lAAAEBWUAMhFlADIN"
        "Ze4IAAkIHAQCaAIxAm4B"
    ),
    "rdk-zstd": (
        "AAAAAAAAAAAAAAB8AAAAAAJWeY04AAQAAAACAAABod1OUoMAAAGh3U5SgwAAAAAAAAAEAAAAAAAAAAAAAyi1L/0A"
        "WBUCAHQCxgEAAAAKa2V5LTCgAXZhbHVlLTAgBAJoAjECbgHGAQAAAjExBDIyCwCAgAMJIB8gBi4BHBxIAPmAWDRc"
        "fw0tTA=="
    ),
}


@pytest.mark.parametrize("origin", list(BATCHES))
def test_batches_of_real_clients_are_read(origin: str) -> None:
    """Keys, values and headers of every client and codec come out as they went in."""
    client, codec = origin.split("-")
    batch = b64decode(BATCHES[origin])
    header = read_header(batch)
    assert header.codec == Codec[codec.upper()]
    assert header.crc == crc_of(batch)
    records = list(read_records(batch))
    assert [record.key for record in records] == [b"key-0", b"key-1", b"key-2"]
    for index, record in enumerate(records):
        text = b"value-%d " % index
        assert record.value == (text * 10 if client == "rdk" else (text * 5).rstrip())
        assert record.headers == ((("h", b"1"), ("n", None)) if client == "rdk" else ())
