"""Turns declarations into Python functions, when they are first needed.

For each (class, version) one flat encoder and one flat decoder are written as source text by
``encode_source`` and ``decode_source``, executed here, and kept on the class. Nested structs are
inlined, so that a whole message costs one call. The text consists of field names, numbers and
struct formats of our own declarations only; nothing that arrives on the wire gets into it.

Two threads that compile the same codec at once do the work twice and store equal results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from odradek.protocol.decode_source import DecodeSource
from odradek.protocol.encode_source import EncodeSource
from odradek.protocol.fields import FRESH, Decoder, Encoder, Kind, Struct


def compile_encoder(cls: type[Struct], version: int, flexible: bool) -> Encoder:
    """The encoder of ``cls``, compiled and kept."""
    source = EncodeSource(version, flexible)
    text = source.function(cls)
    encoder: Encoder = _define(text, "encode", source.names, f"{cls.__name__} v{version} encode")
    cls.ENCODERS[version, flexible] = encoder
    return encoder


def compile_decoder(cls: type[Struct], version: int, flexible: bool) -> Decoder:
    """The decoder of ``cls``, compiled and kept."""
    source = DecodeSource(version, flexible)
    text = source.function(cls)
    decoder: Decoder = _define(text, "decode", source.names, f"{cls.__name__} v{version} decode")
    cls.DECODERS[version, flexible] = decoder
    return decoder


def compile_constructor(cls: type[Struct]) -> Callable[..., None]:
    """The keyword-only ``__init__`` of ``cls``, compiled and installed."""
    names: dict[str, object] = {"FRESH": FRESH}
    parameters, body = [], ["    pass"]
    for field in cls.FIELDS:
        name = field.name
        names[f"default_{name}"] = field.default
        parameters.append(f"{name}=default_{name}")
        value = name
        if field.default is FRESH:
            fresh = "[]"
            if field.kind is Kind.STRUCT:
                names[f"new_{name}"] = field.element
                fresh = f"new_{name}()"
            value = f"{fresh} if {name} is FRESH else {name}"
        body.append(f"    self.{name} = {value}")
    star = ", *, " if parameters else ""
    text = "\n".join([f"def __init__(self{star}{', '.join(parameters)}):", *body])
    constructor: Callable[..., None] = _define(text, "__init__", names, f"{cls.__name__} init")
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = constructor  # type: ignore[method-assign]
    return constructor


def _define(text: str, name: str, names: dict[str, object], title: str) -> Any:
    scope = dict(names)
    exec(compile(text, f"<{title}>", "exec"), scope)
    return scope[name]
