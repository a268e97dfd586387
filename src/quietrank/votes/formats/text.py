"""Text files in any encoding in; their first lines, or a private copy of them in UTF-8, out."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quietrank.errors import VotesError, option
from quietrank.votes.formats.scan import Ready

HEADER_BYTES = 1 << 20
CHUNK = 1 << 20
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""the longer ones first: one begins like another"""
NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def compression_of(path: Path) -> str:
    """By the name's last ending."""
    return COMPRESSIONS.get(path.suffix.lower(), "none")


@contextmanager
def open_bytes(path: Path, name: str, compression: str) -> Iterator[Any]:
    """The bytes of a file, decompressed; a file that is cut off in the middle is an error."""
    try:
        with _stream(path, compression) as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise VotesError(f"cannot read {name}: {error}; check the file") from None


def _stream(path: Path, compression: str) -> Any:
    if compression == "gzip":
        return gzip.open(path, "rb")
    if compression == "zstd":
        import pyarrow as pa

        return pa.input_stream(str(path), compression="zstd")
    return path.open("rb")


def head(file: Ready) -> str:
    """The beginning of a text file, decoded; encodings are checked here first."""
    with open_bytes(file.path, file.name, file.compression) as stream:
        beginning = bytes(stream.read(HEADER_BYTES))
    if b"\0" in beginning:
        raise _not_text(file.name, beginning)
    text = _decode(beginning, file.name).removeprefix("\ufeff")
    if not text.strip():
        raise VotesError(f"{file.name} is empty; give a file with a header and one row per vote")
    return text


def last_character(file: Ready) -> bytes:
    """The last byte of a text file that is not white space."""
    last = b""
    with open_bytes(file.path, file.name, file.compression) as stream:
        if file.compression == "none":
            stream.seek(max(0, file.path.stat().st_size - CHUNK))
        while chunk := bytes(stream.read(CHUNK)):
            last = chunk.rstrip()[-1:] or last
    return last


def _decode(beginning: bytes, name: str) -> str:
    try:
        return beginning.decode("utf-8")
    except UnicodeDecodeError as error:
        # A multi-byte character cut in two by the end of the buffer is not an error.
        if error.start >= HEADER_BYTES - 4:
            return beginning[: error.start].decode("utf-8")
        raise not_utf8(name, f"line {_lines(beginning, error.start)}", guess(beginning)) from None


def _lines(text: bytes, end: int) -> int:
    return text.count(b"\n", 0, end) + 1


def guess(beginning: bytes) -> str:
    """The encoding that a text that is not UTF-8 most likely has."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if beginning.startswith(mark):
            return encoding
    return "latin-1" if any(byte in beginning for byte in NOT_IN_CP1252) else "cp1252"


def _not_text(name: str, beginning: bytes) -> VotesError:
    if any(beginning.startswith(mark) for mark in BYTE_ORDER_MARKS):
        return not_utf8(name, "its byte-order mark says so", guess(beginning))
    return VotesError(f"{name} is not text (it has NUL bytes); save it as UTF-8")


def not_utf8(name: str, where: str, encoding: str) -> VotesError:
    return VotesError(
        f"{name} is not UTF-8 text ({where}); it looks like {encoding}: add {option('encoding', encoding)}, or save it "
        "as UTF-8"
    )


def first_undecodable(file: Ready) -> VotesError | None:
    """The error for a file with bytes that are not UTF-8, wherever they are; None if it has none."""
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 1
    with open_bytes(file.path, file.name, file.compression) as stream:
        while chunk := bytes(stream.read(CHUNK)):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                line = lines + error.object.count(b"\n", 0, error.start)
                return not_utf8(file.name, f"line {line}", guess(error.object[error.start :]))
            lines += chunk.count(b"\n")
    return None


def mixed_ends(file: Ready) -> int | None:
    """The first line that ends in another way than the first one (CR LF, or LF alone); None if all end alike."""
    line, crlf, last = 1, None, b""
    with open_bytes(file.path, file.name, file.compression) as stream:
        while chunk := stream.read(CHUNK):
            for piece in (last + chunk).split(b"\n")[:-1]:
                ends_so = piece.endswith(b"\r")
                if crlf is not None and ends_so is not crlf:
                    return line
                line, crlf = line + 1, ends_so
            last = (last + chunk).rpartition(b"\n")[2]
    return None


def require_encoding(encoding: str) -> str:
    """The name of an encoding of text, as Python knows it."""
    try:
        known = codecs.lookup(encoding) if isinstance(encoding, str) else None
    except (LookupError, ValueError):
        known = None
    if known is None or not known._is_text_encoding:
        raise VotesError(f"{option('encoding')} must name an encoding of text, such as cp1252; got {encoding!r}")
    return known.name


def copy_as_utf8(stream: Any, target: Any, name: str, encoding: str) -> None:
    """Copy text, in chunks, into UTF-8."""
    decoder, characters = codecs.getincrementaldecoder(encoding)(), 0
    while True:
        chunk = bytes(stream.read(CHUNK))
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise VotesError(
                f"{name} is not {encoding} text (after {characters} characters: {error}); give its true encoding with "
                f"{option('encoding')}, or save it as UTF-8"
            ) from None
        target.write(text.encode("utf-8", "surrogatepass"))
        characters += len(text)
        if not chunk:
            return
