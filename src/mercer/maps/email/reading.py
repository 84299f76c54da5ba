"""One message → its fields and its text, whatever was sent: bounded work, every fault noted.

The standard library reads the header fields, the parameters of a content type and the transfer
encodings. The parts are cut out here, by offsets into the one buffer: the library's own parser
recurses once a nested part and tries every open boundary on every line, which a hostile sender
can turn into a crash or an hour of work. What is too much is left out, and `faults` says so.
"""

from __future__ import annotations

import binascii
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from encodings.aliases import aliases
from typing import Any

from mercer._lazy import record

_FIELD = re.compile(rb"[A-Za-z0-9_-]{1,100}[ \t]{0,9}:")
_BLANK = re.compile(rb"\n[ \t]{0,9}\r?\n")
_BASE64 = (string.ascii_letters + string.digits + "+/").encode()
_NOT_BASE64 = bytes(set(range(256)) - set(_BASE64))
# Codecs by table: asking Python for an unknown name imports, and remembers every name for ever.
_CODECS = {*aliases, *aliases.values(), "utf_8_sig"}
_PARSER = BytesHeaderParser()


@record
class Limits:
    """How much of one message is read: characters, parts, levels, characters of a field."""

    text: int = 200_000
    parts: int = 100
    depth: int = 20
    header: int = 4_000

    @property
    def block(self) -> int:
        """Bytes of header fields read, all together."""
        return 64 * self.header

    @property
    def fields(self) -> int:
        return 500


@dataclass
class Mail:
    """A message as read: fields in order (names in lower case), text, raw HTML, kinds of parts."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    html: str = ""
    kinds: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    said: list[str] | None = None

    def note(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)

    def all(self, *names: str) -> list[str]:
        return [value for name, value in self.fields if name in names]


def read_mail(message: bytes | str | Message, limits: Limits) -> Mail:
    """Fields and text of a message. Nothing in the message raises; running out of memory does."""
    mail = Mail()
    text = _Text(mail, limits)
    try:
        for head, body in _parts(message, mail, limits):
            if not mail.kinds:
                mail.fields = [(name.lower(), str(value)) for name, value in head.raw_items()]
            _describe(head, mail)
            if head.get_content_maintype() in ("text", "message"):
                text.add(head, body)
    except MemoryError:
        raise
    except Exception as error:  # whatever it is, the other messages must not suffer from it
        mail.note(f"unreadable {type(error).__name__}")
    text.finish()
    return mail


# --- structure ------------------------------------------------------------------------------


def _parts(
    message: bytes | str | Message, mail: Mail, limits: Limits
) -> Iterator[tuple[Message, bytes]]:
    """The message itself and all its parts, depth first; bodies only of those that hold text."""
    if isinstance(message, Message):
        yield from _parts_of_object(message, mail, limits)
        return
    if isinstance(message, str):
        message = _encoded(message)
    waiting, count = [(0, len(message), 0)], 0
    while waiting:
        start, end, depth = waiting.pop()
        count += 1
        if count > limits.parts:
            mail.note("many parts")
            return
        head, start = _head(message, start, end, mail, limits)
        kind, body = head.get_content_maintype(), b""
        inner: list[tuple[int, int]] = []
        if kind == "multipart":
            inner = _cut(message, start, end, head, mail, limits)
        elif head.get_content_type() == "message/rfc822":
            inner = [(start, end)]
        elif kind in ("text", "message"):
            body = message[start : min(end, start + 4 * limits.text)]
        yield head, body
        if inner and depth >= limits.depth:
            mail.note("deep parts")
            continue
        waiting += [(a, b, depth + 1) for a, b in reversed(inner)]


def _parts_of_object(
    message: Message, mail: Mail, limits: Limits
) -> Iterator[tuple[Message, bytes]]:
    """Parts of a message that was parsed before, each with its content."""
    waiting, count = [(message, 0)], 0
    while waiting:
        part, depth = waiting.pop()
        count += 1
        if count > limits.parts:
            mail.note("many parts")
            return
        head, body = _bounded(part.raw_items(), mail, limits), b""
        payload: Any = part.get_payload()
        if isinstance(payload, str) and head.get_content_maintype() in ("text", "message"):
            body = _encoded(payload[: 4 * limits.text])
        yield head, body
        if isinstance(payload, list):
            if depth >= limits.depth:
                mail.note("deep parts")
                continue
            inner = [p for p in payload[: limits.parts] if isinstance(p, Message)]
            waiting += [(p, depth + 1) for p in reversed(inner)]


def _head(data: bytes, start: int, end: int, mail: Mail, limits: Limits) -> tuple[Message, int]:
    """The fields at `start`, and where the body begins.

    A line without a field's name goes on with the field before it, though it is not indented; a
    boundary ends the fields without a blank line.
    """
    if data.startswith(b"From ", start, end):  # the separator of an mbox file
        start = data.find(b"\n", start, end) + 1 or end
    if data.startswith((b"\n", b"\r\n"), start, end):
        return Message(), start + data[start : start + 2].index(b"\n") + 1
    if not _FIELD.match(data, start, end):
        return Message(), start
    blank = _BLANK.search(data, start, end)
    stop, body = (blank.start(), blank.end()) if blank else (end, end)
    line = data.find(b"\n--", start, stop)
    if line >= 0:
        stop, body = line, line + 1
    if stop - start > limits.block:
        mail.note("long header")
        stop = start + limits.block
    lines = data[start:stop].rstrip().replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    kept = []
    for text in lines:
        if text[:1] not in (b" ", b"\t") and not _FIELD.match(text):
            mail.note("unfolded header")
            text = b" " + text
        kept.append(text)
    head = _PARSER.parsebytes(b"\n".join(kept) + b"\n\n")
    return _bounded(head.raw_items(), mail, limits), body


def _bounded(items: Any, mail: Mail, limits: Limits) -> Message:
    """The fields, cut to length: what reads them later may take time that grows with the square."""
    head = Message()
    for position, (name, value) in enumerate(items):
        if position >= limits.fields:
            mail.note("many fields")
            break
        value = str(value)
        if len(value) > limits.header:
            mail.note("long field")
        head.set_raw(str(name)[:100], value[: limits.header])
    return head


def _cut(
    data: bytes, start: int, end: int, head: Message, mail: Mail, limits: Limits
) -> list[tuple[int, int]]:
    """Begin and end of each part between the boundaries."""
    boundary = _encoded(str(head.get_boundary("") or "")[:200])
    if not boundary:
        mail.note("no boundary")
        return [(start, end)] if start < end else []
    line = re.compile(rb"\n--" + re.escape(boundary) + rb"(--)?[ \t]{0,99}\r?(?=\n|\Z)")
    inner: list[tuple[int, int]] = []
    begin = None
    for match in line.finditer(data, max(start - 1, 0), end):
        if begin is not None:
            inner.append((begin, match.start()))
        begin = None if match[1] else min(match.end() + 1, end)
        if begin is None or len(inner) > limits.parts:
            break
    if begin is not None:
        mail.note("no end of parts")
        inner.append((begin, end))
    elif not inner:
        mail.note("no parts")
    return inner


# --- what the parts are, and what they say ------------------------------------------------------


def _describe(head: Message, mail: Mail) -> None:
    """Type, encodings and the ending of a file's name; an attachment is never decoded."""
    mail.kinds.append(f"type:{head.get_content_type()[:80]}")
    transfer = str(head.get("content-transfer-encoding", "")).strip().lower()
    if transfer:
        mail.kinds.append(f"transfer:{transfer[:40]}")
    charset = _charset(head)
    if charset:
        mail.kinds.append(f"charset:{charset[:40]}")
        if codec(charset) is None:
            mail.note("unknown charset")
    name = head.get_filename()
    if name:
        stem, dot, ending = str(name)[-200:].rpartition(".")
        mail.kinds.append(f"ending:{ending.lower()[:10] if dot and stem else ''}")


def _charset(head: Message) -> str:
    return str(head.get_content_charset("") or "").lower()


class _Text:
    """Gathers decoded text up to the limit; HTML apart, for its links and tags."""

    def __init__(self, mail: Mail, limits: Limits) -> None:
        self.mail, self.left, self.most_bytes = mail, limits.text, 4 * limits.text
        self.plain: list[str] = []
        self.html: list[str] = []

    def add(self, head: Message, body: bytes) -> None:
        transfer = str(head.get("content-transfer-encoding", "")).strip().lower()
        whole = len(body) < self.most_bytes  # what was cut off there is no fault of the message
        body = untransfer(body, transfer, self.left, self.mail if whole else Mail())
        text = decode(body, _charset(head))
        if len(text) > self.left:
            self.mail.note("long text")
        text = text[: self.left]
        self.left -= len(text)
        (self.html if head.get_content_subtype() == "html" else self.plain).append(text)

    def finish(self) -> None:
        self.mail.text, self.mail.html = "\n".join(self.plain), "\n".join(self.html)


def untransfer(body: bytes, transfer: str, most: int, mail: Mail) -> bytes:
    """Undo base64 or quoted-printable, of no more bytes than `most` characters can need."""
    if transfer == "base64":
        clean = body.translate(None, _NOT_BASE64)[: 4 * most]
        usable = len(clean) - (len(clean) % 4 == 1)
        if usable != len(clean):
            mail.note("broken base64")
        return binascii.a2b_base64(clean[:usable] + b"=" * (-usable % 4))
    if transfer == "quoted-printable":
        return binascii.a2b_qp(body)
    return body


def codec(charset: str) -> str | None:
    """The name Python knows a character set by, None if it knows none."""
    name = re.sub(r"[^a-z0-9]+", "_", charset.lower()[:40]).strip("_")
    return name if name in _CODECS else None


def decode(data: bytes, charset: str = "") -> str:
    """Text by the stated character set, else UTF-8 if it is that, else Latin-1, which fits all."""
    name = codec(charset)
    try:
        if name and name not in ("ascii", "us_ascii"):
            return data.decode(name, "replace")
        return data.decode("utf-8")
    except (LookupError, ValueError):  # not a text codec, or not UTF-8
        return data.decode("latin-1")


def decode_field(value: str) -> str:
    """A field with its =?charset?q?encoded=20words?= decoded; as it stands where that fails."""
    try:
        pieces = decode_header(value)
    except Exception:
        return value
    return "".join(
        piece if isinstance(piece, str) else decode(piece, charset or "")
        for piece, charset in pieces
    )


def _encoded(text: str) -> bytes:
    """Bytes of a text that may hold the surrogates by which Python keeps what it cannot decode."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
