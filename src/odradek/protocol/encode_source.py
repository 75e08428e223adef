"""Writes the source of an encoder: ``encode(m0, w)`` hands the parts of a struct to ``w``.

Neighbouring values of fixed size, classic length prefixes and empty tagged sections (one zero byte)
are packed by one ``pack``. Records and bytes are handed over as they are, not copied. Names in the
generated text:

    w, w1 …  take the next part: of the message, or of a tagged field
    b, n     the bytes of a value, and its length plus one
    m0 m1 …  structs being written; a1 … lists
    t1 …     the tagged fields of a struct that are not at their default; D1 … such defaults

A field that the version does not have must hold its default, unless it is ignorable; else the
receiver would silently act on less than it was told.
"""

from __future__ import annotations

import struct
from typing import cast

from odradek.protocol import primitives
from odradek.protocol.fields import FIXED_BYTES, FRESH, Field, Kind, Struct


class EncodeSource:
    """Collects the lines of one encoder, and the names they refer to."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.names: dict[str, object] = {
            "pack": struct.pack,
            "join": b"".join,
            "one_byte": primitives.ONE_BYTE,
            "uvarint": primitives.uvarint,
            "string_prefix": primitives.string_prefix,
            "EncodeError": primitives.EncodeError,
        }
        self._version = version
        self._flexible = flexible
        self._lines: list[str] = []
        self._depth = 1
        self._variables = 0
        self._write = "w"
        # Values of fixed size not yet written: struct code and expression ("" for a zero byte).
        self._pending: list[tuple[str, str]] = []

    def function(self, cls: type[Struct]) -> str:
        """The text of the whole function."""
        self._struct(cls, "m0", cls.__name__)
        self._flush()
        return "\n".join(["def encode(m0, w):", "    pass", *self._lines])

    # Lines

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _name(self, stem: str, value: object) -> str:
        name = self._variable(stem)
        self.names[name] = value
        return name

    def _variable(self, stem: str) -> str:
        self._variables += 1
        return f"{stem}{self._variables}"

    def _pack(self, code: str, expression: str = "") -> None:
        self._pending.append((code, expression))

    def _flush(self) -> None:
        """Write the packing of all pending values."""
        if not self._pending:
            return
        codes = "".join(code for code, _ in self._pending)
        arguments = ", ".join(expression for _, expression in self._pending if expression)
        if arguments:
            packer = "pack_" + codes.replace("?", "_")
            self.names[packer] = struct.Struct(">" + codes).pack
            self._line(f"{self._write}({packer}({arguments}))")
        else:
            self._line(f"{self._write}({bytes(len(codes))!r})")
        self._pending.clear()

    # Structs

    def _struct(self, cls: type[Struct], source: str, path: str) -> None:
        """Write the struct named ``source``; its last values may stay pending."""
        tagged = []
        for field in cls.FIELDS:
            value, name = f"{source}.{field.name}", f"{path}.{field.name}"
            if not field.on_wire(self._version):
                if not field.ignorable:
                    self._refuse(field, value, name)
            elif field.tag is None:
                self._field(field, value, name)
            else:
                tagged.append(field)
        if tagged:
            self._tagged_section(tagged, source, path)
        elif self._flexible:
            self._pack("x")

    def _refuse(self, field: Field, value: str, path: str) -> None:
        text = f"{path} is not part of version {self._version}"
        self._line(f"if {self._differs(field, value)}: raise EncodeError({text!r})")

    def _differs(self, field: Field, value: str) -> str:
        """The condition that a field is not at its default."""
        if field.default is None:
            return f"{value} is not None"
        if field.default is FRESH and field.kind is Kind.ARRAY:
            return f"{value} != []"
        default = field.default_value()
        simple = isinstance(default, int | str | bytes | float)
        return f"{value} != {default!r}" if simple else f"{value} != {self._name('D', default)}"

    def _tagged_section(self, fields: list[Field], source: str, path: str) -> None:
        self._flush()
        assert self._flexible
        outer, tags = self._write, self._variable("t")
        inner, parts = self._variable("w"), self._variable("parts")
        self._line(f"{tags} = []")
        for field in sorted(fields, key=lambda f: f.tag or 0):
            value = f"{source}.{field.name}"
            self._line(f"if {self._differs(field, value)}:")
            self._depth += 1
            self._line(f"{parts} = []")
            self._line(f"{inner} = {parts}.append")
            self._write = inner
            self._field(field, value, f"{path}.{field.name}")
            self._flush()
            self._write = outer
            self._line(f"b = join({parts})")
            self._line(f"{tags} += uvarint({field.tag}), uvarint(len(b)), b")
            self._depth -= 1
        self._line(f"{outer}(uvarint(len({tags}) // 3))")
        self._line(f"if {tags}: {outer}(join({tags}))")

    # Fields

    def _field(self, field: Field, value: str, path: str) -> None:
        if field.kind in FIXED_BYTES:
            self._pack(field.kind.value, value + ".bytes" * (field.kind is Kind.UUID))
            return
        nullable = field.nullable(self._version)
        if nullable:
            self._flush()
            self._line(f"if {value} is None: {self._write}({self._null(field)!r})")
            self._line("else:")
            self._depth += 1
        if field.kind is Kind.STRUCT:
            if nullable:
                self._pack("b", "1")
            self._nested(field, value, path)
        elif field.kind is Kind.ARRAY:
            self._array(field, value, path)
        else:
            self._blob(field.kind, value)
        if nullable:
            self._flush()
            self._depth -= 1

    def _null(self, field: Field) -> bytes:
        kind = field.kind
        if kind is Kind.STRUCT:
            # A byte, -1 or 1; but a varint, 0 or 1, where the struct is a tagged field.
            return b"\xff" if field.tag is None else b"\x00"
        if self._flexible:
            return b"\x00"
        return b"\xff\xff" if kind is Kind.STRING else b"\xff\xff\xff\xff"

    def _length(self, classic_code: str, counted: str, prefix: str = "uvarint") -> None:
        if not self._flexible:
            self._pack(classic_code, f"len({counted})")
            self._flush()
            return
        self._flush()
        self._line(f"n = len({counted}) + 1")
        self._line(f"{self._write}(one_byte[n] if n < 128 else {prefix}(n))")

    def _blob(self, kind: Kind, value: str) -> None:
        if kind is Kind.STRING:
            self._line(f"b = {value}.encode()")
            self._length("h", "b", "string_prefix")
        else:
            self._line(f"b = {value}")
            self._length("i", "b")
        self._line(f"{self._write}(b)")

    def _nested(self, field: Field, value: str, path: str) -> None:
        source = self._variable("m")
        self._line(f"{source} = {value}")
        self._struct(cast("type[Struct]", field.element), source, path)

    def _array(self, field: Field, value: str, path: str) -> None:
        array, item, element = self._variable("a"), self._variable("m"), field.element
        self._line(f"{array} = {value}")
        self._length("i", array)
        if isinstance(element, Kind) and element in FIXED_BYTES and element is not Kind.UUID:
            self._line(f"{self._write}(pack(f'>{{len({array})}}{element.value}', *{array}))")
            return
        self._line(f"for {item} in {array}:")
        self._depth += 1
        if not isinstance(element, Kind):
            assert element is not None
            self._struct(element, item, path)
            self._flush()
            self._line("pass")
        elif element is Kind.UUID:
            self._line(f"{self._write}({item}.bytes)")
        else:
            self._blob(element, item)
        self._depth -= 1
