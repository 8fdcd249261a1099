"""Embed a provenance record in a PNG, SVG, PDF or HTML file, and read it back.

The record is stored where other programs ignore it. A file without its record equals the file before the record was embedded, so the record
can hold the digest of that file: any change of a pixel, path or letter, and any new saving, changes the digest. The text of the record ends
with a digest of itself (`Record.text`). A file counts as changed unless embedding its record again gives the same bytes. A file with
several records is rejected.
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

RECORD_FORMATS = ("png", "svg", "pdf", "html")

_PNG = b"\x89PNG\r\n\x1a\n"
_KEYWORD = b"sentviz"
_SVG = (b'<metadata id="sentviz">', b"</metadata>")
_HTML = (b'<script type="application/json" id="sentviz">', b"</script>")
_PDF = b"\n% the record of sentviz\n"
_INFO = (b"/Sentviz (", b")\n>>\nendobj\n")


def embed_record(data: bytes, format: str, record: Record) -> bytes:
    """Return the file with its record, whose field `picture` becomes the digest of the file.

    Args:
        format: one of `RECORD_FORMATS`.
    """
    return _insert(data, format, replace(record, picture=_digest(data)).text())


def extract_record(data: bytes) -> tuple[str, Record]:
    """Return the format of a file and its record.

    Messages of errors are the rest of a sentence about the file.

    Raises:
        ChangedError: the file was changed since it was written.
    """
    format, text, rest = _split(data)
    if text is None:
        raise InputError("it has no sentviz record: sentviz did not export it, or another program removed the record")
    if text and _split(rest)[1] is not None:
        raise InputError("it has several records, but a file from sentviz has only one")
    record = Record.read(text)
    if _digest(rest) != record.picture or _insert(rest, format, text) != data:
        raise ChangedError("it was changed, cut or saved again after sentviz had written it")
    return format, record


def _insert(data: bytes, format: str, text: str) -> bytes:
    """Return the file with the text of a record in it. Raises InputError if the file has no place for it."""
    if format == "png":
        end = len(_PNG) + 25  # length of the header chunk IHDR
        return data[:end] + _chunk(b"iTXt", _KEYWORD + b"\0\0\0\0\0" + text.encode()) + data[end:]
    if format == "pdf":
        return data + _pdf(data, text)
    start = data.find(b"<svg" if format == "svg" else b"</title>")
    end = data.find(b">", start) + 1
    if start < 0 or not end:
        raise InputError("it is damaged")
    element = html.escape(text, quote=False).encode().join(_SVG) if format == "svg" else text.encode().join(_HTML)
    return data[:end] + element + data[end:]


def _split(data: bytes) -> tuple[str, str | None, bytes]:
    """Return the format, the text of the record (None if there is no record, "" if it is damaged), and the file without it."""
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
    raise InputError("it is neither PNG, SVG, PDF nor HTML, and only these formats carry records")


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
    """Return an incremental update of the PDF that adds document information with the record in it."""
    trailer = data[data.rfind(b"trailer") :]
    parts = (rb"/Size (\d{1,10})\b", rb"/Root (\d{1,10} \d{1,5} R)", rb"startxref\s{1,2}(\d{1,12})\b")
    size, root, before = (re.search(part, trailer) for part in parts)
    if size is None or root is None or before is None:
        raise InputError("it is damaged")
    entries, number, start = json.loads(text), int(size[1]), len(data) + len(_PDF)
    words = {"Title": entries["name"], "Subject": entries["source"], "Creator": f"sentviz {entries['sentviz']}"}
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
