"""One line per configuration key, and what is derived from it.

    @settings
    class TopicConfig(Settings):
        segment_ms: Long = key("segment.ms", default=WEEK_MS, check=at_least(1), doc="Roll after …")

The annotation gives the type (`kinds`), the attribute is the key with dots turned into underscores.
From this line come parsing, checks, DescribeConfigs, AlterConfigs and the configuration page.

A settings object never changes: a new configuration is a new object (`replace`). So any thread may
read one. Long lists of keys are sorted into families (`@key_family`), which a `@settings` class
combines by inheriting them; only the `@settings` class has slots and can be instantiated. The
classes are assembled by hand, not by `dataclasses`: generating a constructor for 400 fields costs
more than the whole start of a broker should.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeVar, cast, dataclass_transform

from odradek.config.checks import Check
from odradek.config.kinds import KINDS, Kind, Type
from odradek.errors import ApiError, Err

T = TypeVar("T")
S = TypeVar("S", bound="Settings")


class ConfigError(ApiError):
    """A bad value or an unknown key; the message names the key and says what is allowed."""

    def __init__(self, message: str) -> None:
        super().__init__(Err.INVALID_CONFIG, message)


class Note(NamedTuple):
    """Something a person should know about a key they set; it does not stop the broker."""

    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


class Update(Enum):
    """Whether and where a broker's key can be changed while it runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


PER_BROKER: Final = Update.PER_BROKER
CLUSTER_WIDE: Final = Update.CLUSTER_WIDE


class Use(NamedTuple):
    """What this broker does with a key: `effective`, `later` (which capability), `none` (why)."""

    status: str
    reason: str


EFFECTIVE: Final = Use("effective", "")


def later(capability: str) -> Use:
    """Accepted and kept; `capability` will use it."""
    return Use("later", capability)


def no_use(reason: str) -> Use:
    """Accepted so that existing files work; this broker has nothing to do with it."""
    return Use("none", reason)


class Synonym(NamedTuple):
    """A broker key that gives a topic or group key its default, `scale` times its value."""

    name: str
    scale: int = 1


class Key:
    """One key's facts."""

    __slots__ = (
        "_own",
        "attribute",
        "check",
        "default",
        "doc",
        "dynamic",
        "family",
        "internal",
        "kind",
        "name",
        "nullable",
        "sensitive",
        "synonyms",
        "use",
    )

    def __init__(
        self,
        name: str,
        default: Any,
        doc: str,
        check: Check | None,
        dynamic: Update | None,
        use: Use | None,
        internal: bool,
        synonyms: tuple[Synonym, ...],
    ) -> None:
        self.name = name
        self.attribute = name.replace(".", "_")
        self.default = default
        self.doc = doc
        self.check = check
        self.internal = internal
        self.synonyms = synonyms
        self._own = (use, dynamic)
        # Known once the class around the declaration is there.
        self.use: Use
        self.dynamic: Update
        self.kind: Kind
        self.nullable: bool
        self.sensitive: bool
        self.family: str

    def bind(self, annotation: str, family: str, use: Use | None, dynamic: Update | None) -> None:
        """Take over what the surrounding class says: the type, and the family's defaults."""
        bare = annotation.removesuffix(" | None")
        self.kind = KINDS[bare]
        self.nullable = bare is not annotation
        self.sensitive = self.kind.type is Type.PASSWORD
        self.family = family
        own_use, own_dynamic = self._own
        self.use = own_use or use or EFFECTIVE
        self.dynamic = own_dynamic or dynamic or Update.READ_ONLY

    @property
    def type(self) -> Type:
        """The type's number on the wire."""
        return self.kind.type

    @property
    def allowed(self) -> str:
        """What the value may be, in words; empty when anything of the type will do."""
        return self.check.text if self.check else ""

    def parse(self, text: str) -> Any:
        """The value that `text` stands for; ConfigError when it is not one of this key's."""
        if self.nullable and not text.strip():
            return None
        try:
            value = self.kind.read(text)
        except ValueError as error:
            raise self.refusal(text, str(error)) from None
        self.validate(value, text)
        return value

    def validate(self, value: Any, text: str | None = None) -> None:
        """ConfigError when the value lies outside the key's bounds."""
        if value is None and self.nullable:
            return
        if self.check is not None and not self.check.allows(value):
            raise self.refusal(self.format(value) or "" if text is None else text, self.check.text)

    def refusal(self, text: str, expected: str) -> ConfigError:
        """The error for a bad value; a secret is not repeated."""
        shown = "[hidden]" if self.sensitive else text
        words = expected if expected.startswith(("expected", "not ")) else f"expected {expected}"
        return ConfigError(f"{self.name}={shown}: {words}")

    def format(self, value: Any) -> str | None:
        """The text Kafka prints for a value; None for null."""
        return None if value is None else self.kind.write(value)

    def __repr__(self) -> str:
        return f"Key({self.name})"


def key(
    name: str,
    *,
    default: T,
    doc: str,
    check: Check | None = None,
    dynamic: Update | None = None,
    use: Use | None = None,
    internal: bool = False,
    synonyms: tuple[Synonym, ...] = (),
) -> T:
    """Declare one key. `internal`: describe hides it. `synonyms`: broker keys behind a topic's."""
    return cast(T, Key(name, default, doc, check, dynamic, use, internal, synonyms))


class Settings:
    """What every settings object can do. The subclass's declarations say what it holds."""

    __slots__ = ()
    KEYS: ClassVar[Mapping[str, Key]] = {}
    given: Mapping[str, str]
    """The keys that were set explicitly, as text; all others have their defaults."""

    def __init__(self, **values: Any) -> None:
        assign = object.__setattr__
        given = {}
        for declared in self.KEYS.values():
            attribute = declared.attribute
            if attribute in values:
                value = values.pop(attribute)
                declared.validate(value)
                given[declared.name] = declared.format(value) or ""
                assign(self, attribute, value)
            else:
                assign(self, attribute, declared.default)
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(values))}")
        assign(self, "given", given)

    @classmethod
    def assemble(cls, values: Mapping[str, Any], given: Mapping[str, str]) -> Self:
        """An object from values that were checked before, by attribute; the rest are defaults."""
        new = cls.__new__(cls)
        assign = object.__setattr__
        for declared in cls.KEYS.values():
            attribute = declared.attribute
            assign(new, attribute, values.get(attribute, declared.default))
        assign(new, "given", dict(given))
        return new

    def replace(self, **changes: Any) -> Self:
        """A copy with some attributes changed (and counted as given)."""
        values = {k.attribute: getattr(self, k.attribute) for k in self.KEYS.values()}
        given = dict(self.given)
        for attribute, value in changes.items():
            declared = self.KEYS[attribute.replace("_", ".")]
            declared.validate(value)
            values[attribute] = value
            given[declared.name] = declared.format(value) or ""
        return self.assemble(values, given)

    def value(self, name: str) -> Any:
        """The value of a key by its dotted name."""
        return getattr(self, self.KEYS[name].attribute)

    def items(self) -> Iterator[tuple[Key, Any]]:
        """Every declaration with its value."""
        for declared in self.KEYS.values():
            yield declared, getattr(self, declared.attribute)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change; use replace({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(value == getattr(other, k.attribute) for k, value in self.items())

    def __hash__(self) -> int:
        return hash(tuple(value for _, value in self.items()))

    def __repr__(self) -> str:
        """Only what differs from the defaults: the rest would be pages."""
        shown = ", ".join(f"{k.attribute}={v!r}" for k, v in self.items() if v != k.default)
        return f"{type(self).__name__}({shown})"


def _own_keys(cls: type, family: str, use: Use | None, dynamic: Update | None) -> dict[str, Key]:
    keys = {}
    annotations = cls.__annotations__
    for attribute, declared in cls.__dict__.items():
        if isinstance(declared, Key):
            assert attribute == declared.attribute, f"{attribute} declares {declared.name}"
            declared.bind(annotations[attribute], family, use, dynamic)
            keys[declared.name] = declared
    return keys


def _rebuild(cls: type[S], keys: dict[str, Key], slots: tuple[str, ...]) -> type[S]:
    """The class again with `__slots__`, which can only be given when a class is made."""
    namespace = {
        name: member
        for name, member in cls.__dict__.items()
        if name not in ("__dict__", "__weakref__") and not isinstance(member, Key)
    }
    namespace |= {"__slots__": slots, "KEYS": keys}
    return cast("type[S]", type(cls.__name__, cls.__bases__, namespace))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
def key_family(
    title: str, *, use: Use | None = None, dynamic: Update | None = None
) -> Callable[[type[S]], type[S]]:
    """A group of keys under one title; `use` and `dynamic` hold where a key says nothing itself."""

    def decorate(cls: type[S]) -> type[S]:
        return _rebuild(cls, _own_keys(cls, title, use, dynamic), ())

    return decorate


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
def settings(cls: type[S]) -> type[S]:
    """Make a class of declarations (its own and its families') a class of immutable values."""
    keys: dict[str, Key] = {}
    for base in cls.__bases__:
        keys |= getattr(base, "KEYS", {})
    keys |= _own_keys(cls, cls.__name__, None, None)
    slots = (*(declared.attribute for declared in keys.values()), "given")
    return _rebuild(cls, keys, slots)


def nearest(name: str, known: Mapping[str, Key]) -> str | None:
    """The known key that a misspelt one most probably means."""
    import difflib  # only on the way to a message; its import costs more than a settings object

    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else None


def unknown_key(name: str, known: Mapping[str, Key]) -> str:
    """Words for a key nobody declared."""
    meant = nearest(name, known)
    return f"unknown key {name}" + (f", did you mean {meant}?" if meant else "")
