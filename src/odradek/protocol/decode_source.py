"""Writes the source of a decoder: ``decode(d, p)`` reads a struct of ``d`` at ``p``.

Neighbouring values of fixed size, length prefixes included, are read by one ``unpack_from``; in
flexible versions the first byte of a varint joins them. Names in the generated text:

    d, e     the input (a memoryview of bytes) and its length
    p, q     the position, and the end of the value being read
    n, t     a length or count; the first byte of a tagged section
    m0 m1 …  structs being filled; a1 … lists around them

Every length is checked before anything is built of it: not negative (but for the null marker), not
beyond the input, and a count only if that many of the smallest possible elements fit. What is left
to struct (reading past the end) or to UTF-8 surfaces as their exceptions; ``codec`` translates.
"""

from __future__ import annotations

import struct
from typing import cast

from odradek.protocol import primitives
from odradek.protocol.fields import FIXED_BYTES, FRESH, Field, Kind, Struct
from odradek.protocol.primitives import EMPTY_ELEMENTS_MAX, STRING_BYTES_MAX


class DecodeSource:
    """Collects the lines of one decoder, and the names they refer to."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.names: dict[str, object] = {
            "new": object.__new__,
            "unpack_from": struct.unpack_from,
            "uvarint": primitives.read_uvarint,
            "uuid_of": primitives.uuid_of,
            "bad_length": primitives.bad_length,
            "skip_tags": primitives.skip_tags,
            "tag_count": primitives.tag_count,
            "tag_start": primitives.tag_start,
            "DecodeError": primitives.DecodeError,
        }
        self._version = version
        self._flexible = flexible
        self._lines: list[str] = []
        self._depth = 1
        self._variables = 0
        # Values of fixed size not yet read: struct code and where each goes.
        self._pending: list[tuple[str, str]] = []
        self._uuids: list[str] = []

    def function(self, cls: type[Struct]) -> str:
        """The text of the whole function."""
        self._struct(cls, "m0", cls.__name__)
        self._flush()
        self._line("return m0, p")
        return "\n".join(["def decode(d, p):", "    e = len(d)", *self._lines])

    # Lines

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _name(self, name: str, value: object) -> str:
        self.names[name] = value
        return name

    def _variable(self, stem: str) -> str:
        self._variables += 1
        return f"{stem}{self._variables}"

    def _read(self, code: str, target: str) -> None:
        self._pending.append((code, target))

    def _flush(self) -> None:
        """Write the read of all pending values."""
        if not self._pending:
            return
        codes = "".join(code for code, _ in self._pending)
        targets = ", ".join(target for _, target in self._pending)
        if codes == "B":
            self._line(f"{targets} = d[p]")
        else:
            layout = struct.Struct(">" + codes)
            reader = self._name("read_" + codes.replace("?", "_"), layout.unpack_from)
            comma = "," if len(self._pending) == 1 else ""
            self._line(f"{targets}{comma} = {reader}(d, p)")
        self._line(f"p += {struct.calcsize('>' + codes)}")
        for target in self._uuids:
            self._line(f"{target} = uuid_of({target})")
        self._pending.clear()
        self._uuids.clear()

    # Structs

    def _struct(self, cls: type[Struct], target: str, path: str) -> None:
        """Fill ``target`` with a struct; its last values may stay pending."""
        self._line(f"{target} = new({self._name(cls.__name__, cls)})")
        tagged = []
        for field in cls.FIELDS:
            present = field.on_wire(self._version)
            if present and field.tag is None:
                self._field(field, f"{target}.{field.name}", f"{path}.{field.name}")
                continue
            self._line(f"{target}.{field.name} = {self._default(field)}")
            if present:
                tagged.append(field)
        if self._flexible:
            self._tagged_section(tagged, target, path)

    def _default(self, field: Field) -> str:
        if field.default is FRESH:
            return "[]" if field.kind is Kind.ARRAY else f"{self._element(field)}()"
        if field.kind is Kind.UUID:
            return self._name(f"uuid_{field.default.hex}", field.default)
        return repr(field.default)

    def _element(self, field: Field) -> str:
        cls = cast("type[Struct]", field.element)
        return self._name(cls.__name__, cls)

    def _tagged_section(self, fields: list[Field], target: str, path: str) -> None:
        self._read("B", "t")
        self._flush()
        if not fields:
            self._line("if t: p = skip_tags(d, t, p)")
            return
        tag, stop = self._variable("tag"), self._variable("stop")
        self._line("if t:")
        self._depth += 1
        self._line("t, p = tag_count(d, t, p)")
        self._line(f"{tag} = -1")
        self._line("for _ in range(t):")
        self._depth += 1
        self._line(f"{tag}, p, {stop} = tag_start(d, p, {tag})")
        word = "if"
        for field in fields:
            self._line(f"{word} {tag} == {field.tag}:")
            self._depth += 1
            self._field(field, f"{target}.{field.name}", f"{path}.{field.name}")
            self._flush()
            self._depth -= 1
            word = "elif"
        self._line("else:")
        self._line(f"    p = {stop}")
        self._line(f"if p != {stop}: raise DecodeError('{path}: wrong size of a tagged field')")
        self._depth -= 2

    # Fields

    def _field(self, field: Field, target: str, path: str) -> None:
        if field.kind in FIXED_BYTES:
            self._fixed(field.kind, target)
        elif field.kind is Kind.STRUCT:
            self._nested(field, target, path)
        elif field.kind is Kind.ARRAY:
            self._array(field, target, path)
        else:
            self._blob(field.kind, field.nullable(self._version), target, path)

    def _fixed(self, kind: Kind, target: str) -> None:
        self._read(kind.value, target)
        if kind is Kind.UUID:
            self._uuids.append(target)

    def _length(self, classic_code: str) -> None:
        """Read a length into ``n``; -1 means null in either encoding."""
        if not self._flexible:
            self._read(classic_code, "n")
            self._flush()
            return
        self._read("B", "n")
        self._flush()
        self._line("if n > 127: n, p = uvarint(d, n, p)")
        self._line("n -= 1")

    def _null_branch(self, nullable: bool, target: str) -> None:
        """Open the branch of values that are not null, if there are others."""
        if nullable:
            self._line(f"if n == -1: {target} = None")
            self._line("else:")
            self._depth += 1

    def _blob(self, kind: Kind, nullable: bool, target: str, path: str) -> None:
        self._length("h" if kind is Kind.STRING else "i")
        self._null_branch(nullable, target)
        self._line("q = p + n")
        limit = f" or n > {STRING_BYTES_MAX}" if kind is Kind.STRING and self._flexible else ""
        self._line(f"if not p <= q <= e{limit}: raise bad_length('{path}', n)")
        value = {Kind.STRING: "str({}, 'utf-8')", Kind.BYTES: "bytes({})", Kind.RECORDS: "{}"}
        self._line(f"{target} = {value[kind].format('d[p:q]')}")
        self._line("p = q")
        self._depth -= nullable

    def _nested(self, field: Field, target: str, path: str) -> None:
        cls = cast("type[Struct]", field.element)
        inner = self._variable("m")
        nullable = field.nullable(self._version)
        if nullable:
            self._read("b", "n")
            self._flush()
            if field.tag is not None:
                self._line("n -= 1")  # a tagged struct is null at 0, not at -1
            self._line(f"if n < -1: raise bad_length('{path}', n)")
        self._null_branch(nullable, target)
        self._struct(cls, inner, path)
        self._line(f"{target} = {inner}")
        if nullable:
            self._flush()
            self._depth -= 1

    def _array(self, field: Field, target: str, path: str) -> None:
        self._length("i")
        nullable = field.nullable(self._version)
        self._null_branch(nullable, target)
        element = field.element
        assert element is not None
        smallest = self._bytes_min(element)
        fits = f"n * {smallest} > e - p" if smallest else f"n > {EMPTY_ELEMENTS_MAX}"
        self._line(f"if n < 0 or {fits}: raise bad_length('{path}', n)")
        if not isinstance(element, Kind):
            self._loop(element, target, path)
        elif element is Kind.UUID:
            self._line("q = p + n * 16")
            self._line(f"{target} = [uuid_of(bytes(d[i : i + 16])) for i in range(p, q, 16)]")
            self._line("p = q")
        elif element in FIXED_BYTES:
            self._line(f"{target} = list(unpack_from(f'>{{n}}{element.value}', d, p))")
            self._line(f"p += n * {FIXED_BYTES[element]}")
        else:
            self._loop(element, target, path)
        self._depth -= nullable

    def _loop(self, element: type[Struct] | Kind, target: str, path: str) -> None:
        array, item = self._variable("a"), self._variable("m")
        self._line(f"{array} = {target} = []")
        self._line("for _ in range(n):")
        self._depth += 1
        if isinstance(element, Kind):
            self._blob(element, False, item, path)
        else:
            self._struct(element, item, path)
            self._flush()
        self._line(f"{array}.append({item})")
        self._depth -= 1

    def _bytes_min(self, element: type[Struct] | Kind) -> int:
        """The fewest bytes an element can take on the wire."""
        if isinstance(element, Kind):
            prefix = 2 if element is Kind.STRING else 4
            return FIXED_BYTES.get(element, 1 if self._flexible else prefix)
        total = int(self._flexible)
        for field in element.FIELDS:
            if not field.on_wire(self._version) or field.tag is not None:
                continue
            if field.kind is Kind.STRUCT:
                cls = cast("type[Struct]", field.element)
                total += 1 if field.nullable(self._version) else self._bytes_min(cls)
            else:
                total += self._bytes_min(field.kind)
        return total
