"""The ledger of a run: an append-only file of checksummed records, JSON inside.

A record is a head of 24 bytes (magic, length, number from 0, xxh3-64 of number, length and body),
then the body, one JSON object. Reading stops at the first record that is cut off or damaged;
what was appended before it holds. The parser meets arbitrary bytes and never raises.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any, cast

from xxhash import xxh3_64_intdigest

from ..tiers import Files
from ..tiers._files import failed, read_all, sync, sync_directory, write_all

__all__ = ["FORMAT", "Ledger", "LedgerContent", "pack_record", "parse_records"]

FORMAT = 1
"""The version of the ledger and of the files beside it."""

_HEAD = Struct("<4sIQQ")
_MAGIC = b"adjL"
_LONGEST = 1 << 26


@dataclass(frozen=True, slots=True)
class LedgerContent:
    """What a ledger file says: its valid records, the bytes they take, what is wrong after them."""

    records: tuple[dict[str, Any], ...]
    nbytes: int
    damage: str | None


def pack_record(number: int, fields: Mapping[str, Any]) -> bytes:
    """Return the bytes of one record."""
    import json  # noqa: PLC0415 - not needed by runs without a directory

    body = json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    return _HEAD.pack(_MAGIC, len(body), number, _digest(number, body)) + body


def parse_records(data: bytes) -> LedgerContent:
    """Return the valid records at the start of ``data``."""
    import json  # noqa: PLC0415

    records: list[dict[str, Any]] = []
    at = 0
    damage = None
    while at < len(data) and damage is None:
        number = len(records)
        if len(data) - at < _HEAD.size:
            damage = f"record {number} is cut off"
            break
        magic, length, found, digest = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + length]
        if magic != _MAGIC or found != number or length > _LONGEST:
            damage = f"record {number} is damaged"
        elif len(body) < length:
            damage = f"record {number} is cut off"
        elif _digest(number, body) != digest:
            damage = f"record {number} is damaged"
        else:
            try:
                value: object = json.loads(body)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                records.append(cast("dict[str, Any]", value))
                at += _HEAD.size + length
            else:
                damage = f"record {number} holds no object"
    return LedgerContent(tuple(records), at, damage)


class Ledger:
    """A ledger open for appending.

    Parameters
    ----------
    files : Files
        The layer of system calls.
    path : str
        The file.
    durable : bool
        Wait after each record until it is on the medium.
    """

    def __init__(self, files: Files, path: str, *, durable: bool = False) -> None:
        self._files = files
        self._path = path
        self._durable = durable
        self._fd = -1
        self._at = 0
        self._number = 0

    def create(self) -> None:
        """Begin an empty ledger; what was there is gone.

        Raises
        ------
        DiskFull, StorageFailed
            The system failed to make it.
        """
        place = str(Path(self._path).parent)
        try:
            self._fd = self._files.open(self._path, os.O_RDWR | os.O_CREAT)
            self._files.truncate(self._fd, 0)
            if self._durable:
                sync_directory(self._files, place)
        except OSError as error:
            raise failed(self._files, place, 0, "the ledger", error) from error
        self._at = self._number = 0

    def continue_from(self, content: LedgerContent) -> None:
        """Open the ledger for records after ``content``; cut off what is damaged."""
        self._fd = self._files.open(self._path, os.O_RDWR)
        self._at = content.nbytes
        self._number = len(content.records)
        self._files.truncate(self._fd, self._at)

    def append(self, kind: str, **fields: Any) -> None:
        """Add a record; after an error the ledger is as it was before.

        Raises
        ------
        DiskFull, StorageFailed
            The system failed to write it.
        """
        data = memoryview(pack_record(self._number, {"kind": kind, **fields}))
        try:
            write_all(self._files, self._fd, data, self._at)
            if self._durable:
                sync(self._files, self._fd)
        except OSError as error:
            place = str(Path(self._path).parent)
            raise failed(self._files, place, len(data), "a line of the ledger", error) from error
        self._at += len(data)
        self._number += 1

    def close(self) -> None:
        """Close the file. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._files.close(fd)


def read_ledger(files: Files, path: str) -> LedgerContent:
    """Return what the file says.

    Raises
    ------
    FileNotFoundError
        There is none.
    """
    fd = files.open(path, os.O_RDONLY)
    try:
        data = bytearray(files.size(fd))
        got = read_all(files, fd, memoryview(data), 0)
    finally:
        files.close(fd)
    return parse_records(bytes(data[:got]))


def _digest(number: int, body: bytes) -> int:
    return xxh3_64_intdigest(number.to_bytes(8, "little") + len(body).to_bytes(4, "little") + body)
