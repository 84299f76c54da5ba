"""What a message gives to each group of features: one small function a group.

Every pattern here is one run of one set of characters, or starts with fixed letters and is
bounded, so that no text makes it search for longer than the text is long.
"""

from __future__ import annotations

import html
import ipaddress
import re
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from itertools import pairwise

from mercer.maps.email.reading import Mail, decode_field

_WORD = re.compile(r"[\w$%'!-]+")
_TAG = re.compile(r"<[^<>]*>")
_TAG_NAME = re.compile(r"</?([a-zA-Z!][a-zA-Z0-9]{0,15})")
_HOP = re.compile(r"\b(from|by)\s{1,20}([\w.-]{1,255})", re.I)
_IP4 = re.compile(r"(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.])")
_IP6 = re.compile(r"\[IPv6:([0-9a-fA-F:.]{2,45})\]", re.I)
_LINK = re.compile(r"\b(https?|ftp|mailto):(?://)?([^\s/<>\"'?#\\)]{1,255})", re.I)
_ADDRESS = re.compile(r"[^\s<>,;:\"()\[\]]+")
_LONGEST_WORD = 40  # letters of a word; a longer run is noise, and stands as its length only


def words_of(text: str) -> list[str]:
    """Words in lower case, with the signs that sell ($, %, !); very long ones by length only."""
    words = (word.strip("'-").lower() for word in _WORD.findall(text))
    return [
        w if len(w) <= _LONGEST_WORD else f"<{len(w).bit_length()} bits long>" for w in words if w
    ]


def _said(mail: Mail) -> list[str]:
    """The words of the text, and of the HTML between its tags."""
    if mail.said is None:  # two groups ask for it
        mail.said = words_of(mail.text)
        if mail.html:
            mail.said += words_of(_unescaped(_TAG.sub(" ", mail.html)))
    return mail.said


def _unescaped(text: str) -> str:
    """&amp; and the like replaced; not at all, if one of them is a number no one can read."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


def words(mail: Mail) -> Iterator[str]:
    yield from _said(mail)
    yield from (f"<{name.lower()}>" for name in _TAG_NAME.findall(mail.html))


def pairs(mail: Mail) -> Iterator[str]:
    yield from (f"{a} {b}" for a, b in pairwise(_said(mail)))


def subject(mail: Mail) -> Iterator[str]:
    titles = mail.all("subject")
    if not titles:
        yield "none"
    for title in titles[:3]:
        title = decode_field(title)
        words = words_of(title)
        yield from words
        yield from (f"{a} {b}" for a, b in pairwise(words))
        if title.isupper():
            yield "in capitals"


def date(mail: Mail) -> Iterator[str]:
    """Hour, weekday and zone as the sender's clock had them."""
    dates = mail.all("date")
    if not dates:
        yield "none"
        return
    try:
        when = parsedate_to_datetime(dates[0])
    except (ValueError, TypeError, IndexError, OverflowError):
        yield "unreadable"
        return
    yield "readable"
    yield f"hour:{when.hour}"
    yield f"weekday:{when:%a}"
    yield f"zone:{when:%z}" if when.tzinfo else "zone:none"


def path(mail: Mail) -> Iterator[str]:
    """The hosts a message came through, from the last to the first, and whom it was for."""
    hops = mail.all("received")
    yield f"hops:{min(len(hops), 20)}"
    for hop in hops:
        for way, host in _HOP.findall(hop):
            host = host.strip(".-").lower()
            if host and not _IP4.fullmatch(host):
                yield f"{way.lower()}:{host}"
                yield from (f"domain:{d}" for d in _domains(host))
    for name in ("to", "cc", "delivered-to", "x-forwarded-to"):
        for address, domain in _addresses(mail.all(name)):
            yield f"for:{address}"
            yield f"for:@{domain}"


def ip(mail: Mail) -> Iterator[str]:
    """Numbers of the hosts on the way, whole and by their networks."""
    for hop in mail.all("received", "x-originating-ip"):
        for number in _IP4.findall(hop):
            parts = [int(part) for part in number.split(".")]
            if max(parts) <= 255:
                yield ".".join(map(str, parts))
                yield ".".join(map(str, parts[:3])) + ".*"
                yield ".".join(map(str, parts[:2])) + ".*"
        for number in _IP6.findall(hop):
            try:
                address = ipaddress.IPv6Address(number)
            except ValueError:
                yield "unreadable"
                continue
            yield str(address)
            yield str(ipaddress.IPv6Network((address, 64), strict=False))


def sender(mail: Mail) -> Iterator[str]:
    """Addresses and domains of those who claim to have sent it, and whether they agree."""
    origins = []
    for name in ("from", "sender", "reply-to", "return-path"):
        senders = list(_addresses(mail.all(name)))
        if not senders:
            yield f"no {name}"
        for address, domain in senders:
            yield f"{name}:{address}"
            yield from (f"domain:{d}" for d in _domains(domain))
        origins.append({domain for _, domain in senders})
    if origins[0] and origins[3]:
        yield "same domain" if origins[0] & origins[3] else "other domain"
    for value in mail.all("from")[:3]:
        yield from (
            f"name:{w}" for w in words_of(decode_field(value).split("<")[0]) if "@" not in w
        )


def encoding(mail: Mail) -> Iterator[str]:
    """Types, character sets and transfer encodings of all parts, and what was wrong with them."""
    yield from mail.kinds
    yield from (f"fault:{fault}" for fault in mail.faults)


def links(mail: Mail) -> Iterator[str]:
    """Hosts that the text points to."""
    urls = _LINK.findall(mail.html) + _LINK.findall(mail.text)
    yield f"number:{len(urls).bit_length()} bits"
    for scheme, host in urls:
        host = host.rpartition("@")[2].partition(":")[0].strip(".,;!").lower()
        yield f"scheme:{scheme.lower()}"
        if _IP4.fullmatch(host) or host.isdigit():
            yield "numeric host"
        if host:
            yield from (f"domain:{d}" for d in _domains(host))


def headers(mail: Mail) -> Iterator[str]:
    """Names of the fields, and the program that wrote them."""
    yield from {name for name, _ in mail.fields}
    for value in mail.all("x-mailer", "user-agent")[:3]:
        yield from (f"mailer:{word}" for word in words_of(value[:200]))
    for name in ("precedence", "x-priority", "importance"):
        yield from (f"{name}:{word}" for v in mail.all(name)[:1] for word in words_of(v[:40]))


#: The groups in the order of their columns; the first two and `links` read the body, the others
#: the headers. `headers` is what the lecture calls the secret sauce.
GROUPS: dict[str, Callable[[Mail], Iterator[str]]] = {
    "words": words,
    "pairs": pairs,
    "links": links,
    "subject": subject,
    "date": date,
    "path": path,
    "ip": ip,
    "sender": sender,
    "encoding": encoding,
    "headers": headers,
}


def _addresses(values: list[str]) -> Iterator[tuple[str, str]]:
    for value in values:
        for token in _ADDRESS.findall(value):
            if "@" in token and len(token) <= 320:
                address = token.strip(".'").lower()
                domain = address.rpartition("@")[2]
                if domain:
                    yield address, domain


def _domains(host: str) -> Iterator[str]:
    """mail.cs.berkeley.edu → itself, cs.berkeley.edu, berkeley.edu, edu; at most the last five."""
    labels = host.split(".")
    yield host
    yield from (".".join(labels[-n:]) for n in range(min(len(labels) - 1, 4), 0, -1))
