"""Records inside files: put into a PNG, SVG, PDF or HTML where other programs leave them alone, and read from there.

What a file is without its record is exactly what it was before, so that its digest can stand in the record: whoever changes a pixel,
a path or a letter of it, or saves it anew, changes that digest. The record's own text ends with a digest of itself (`Record.text`), and
a file is read as changed unless that text, put in again, gives the same bytes. A file with several records is refused.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import struct
import zlib
from codecs import BOM_UTF16_BE
from dataclasses import replace

from sentviz.errors import InputError
from sentviz.export.record import ChangedError, Record

SEALED = ("png", "svg", "pdf", "html")

_PNG = b"\x89PNG\r\n\x1a\n"
_KEYWORD = b"sentviz"
_SVG = (b'<metadata id="sentviz">', b"</metadata>")
_HTML = (b'<script type="application/json" id="sentviz">', b"</script>")
_PDF = b"\n% the record of sentviz\n"
_INFO = (b"/Sentviz (", b")\n>>\nendobj\n")


def seal(data: bytes, format: str, record: Record) -> bytes:
    """The file with its record, which gets the digest of the file.

    Args:
        format: one of `SEALED`.
    """
    return _with(data, format, replace(record, picture=_digest(data)).text())


def unseal(data: bytes) -> tuple[str, Record]:
    """What kind of file it is, and its record.

    Raises:
        ChangedError: it was changed since it was written. As the rest of a sentence about the file, as the next one is.
        InputError: it is of no such kind, has no record, or one that cannot be read.
    """
    format, text, rest = _taken(data)
    if text is None:
        raise InputError("it carries no record of sentviz: it is not from there, or another program took the record out")
    if text and _taken(rest)[1] is not None:
        raise InputError("it carries several records, and a file of sentviz carries one")
    record = Record.read(text)
    if _digest(rest) != record.picture or _with(rest, format, text) != data:
        raise ChangedError("it was changed, cut or saved anew after sentviz had written it")
    return format, record


def _with(data: bytes, format: str, text: str) -> bytes:
    """The file with the text of a record."""
    if format == "png":
        end = len(_PNG) + 25  # of the header
        return data[:end] + _chunk(b"iTXt", _KEYWORD + b"\0\0\0\0\0" + text.encode()) + data[end:]
    if format == "pdf":
        return data + _pdf(data, text)
    start = data.find(b"<svg" if format == "svg" else b"</title>")
    end = data.find(b">", start) + 1
    if start < 0 or not end:
        raise InputError("it is damaged")
    put = html.escape(text, quote=False).encode().join(_SVG) if format == "svg" else text.encode().join(_HTML)
    return data[:end] + put + data[end:]


def _taken(data: bytes) -> tuple[str, str | None, bytes]:
    """Format, text of the record, and the file without it."""
    start = data[:1024].lstrip().lower()
    if data.startswith(_PNG):
        return "png", *_from_png(data)
    if data.startswith(b"%PDF-"):
        return "pdf", *_from_pdf(data)
    if start.startswith((b"<!doctype html", b"<html")):
        return "html", *_between(data, *_HTML)
    if start.startswith((b"<svg", b"<?xml")):
        text, rest = _between(data, *_SVG)
        return "svg", None if text is None else html.unescape(text), rest
    raise InputError("it is neither PNG, SVG, PDF nor HTML, which alone carry records")


def _between(data: bytes, opens: bytes, closes: bytes) -> tuple[str | None, bytes]:
    start = data.find(opens)
    end = data.find(closes, start + len(opens))
    if start < 0:
        return None, data
    if end < 0:
        return "", data
    return data[start + len(opens) : end].decode("utf-8", "replace"), data[:start] + data[end + len(closes) :]


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _from_png(data: bytes) -> tuple[str | None, bytes]:
    at = len(_PNG)
    while at + 12 <= len(data):
        length, kind = struct.unpack(">I", data[at : at + 4])[0], data[at + 4 : at + 8]
        body, end = data[at + 8 : at + 8 + length], at + 12 + length
        if kind == b"iTXt" and body.startswith(_KEYWORD + b"\0"):
            return body[len(_KEYWORD) + 5 :].decode("utf-8", "replace"), data[:at] + data[end:]
        at = end
    return None, data


def _pdf(data: bytes, text: str) -> bytes:
    """An incremental update of the file: information about the document that holds the record."""
    trailer = data[data.rfind(b"trailer") :]
    parts = (rb"/Size (\d{1,10})\b", rb"/Root (\d{1,10} \d{1,5} R)", rb"startxref\s{1,2}(\d{1,12})\b")
    size, root, before = (re.search(part, trailer) for part in parts)
    if size is None or root is None or before is None:
        raise InputError("it is damaged")
    said, number, start = json.loads(text), int(size[1]), len(data) + len(_PDF)
    words = {"Title": said["name"], "Subject": said["source"], "Creator": f"sentviz {said['sentviz']}"}
    info = "".join(f"/{key} <{(BOM_UTF16_BE + value.encode('utf-16-be', 'replace')).hex()}>\n" for key, value in words.items())
    escaped = re.sub(r"([\\()])", r"\\\1", text)
    body = f"{number} 0 obj\n<<\n{info}".encode() + escaped.encode().join(_INFO)
    table = f"xref\n{number} 1\n{start:010} 00000 n \n".encode()
    end = b"trailer\n<<\n/Size %d\n/Root %s\n/Info %d 0 R\n/Prev %s\n>>\nstartxref\n%d\n%%%%EOF\n"
    return _PDF + body + table + end % (number + 1, root[1], number, before[1], start + len(body))


def _from_pdf(data: bytes) -> tuple[str | None, bytes]:
    place = data.rfind(_PDF)
    if place < 0:
        return None, data
    start, end = data.find(_INFO[0], place), data.rfind(_INFO[1])
    text = data[start + len(_INFO[0]) : end].decode("utf-8", "replace") if place < start < end else ""
    return re.sub(r"\\([\\()])", r"\1", text), data[:place]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
