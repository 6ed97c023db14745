"""Compression of checkpoints, by pyrevolve's scheme names."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import BadValue, MissingExtra
from ..problem import Array

__all__ = ["Codec", "CompressedObject", "compressors_available", "init_compression"]

Codec = Callable[[Any], Any]


class CompressedObject:
    """Compressed bytes with the shape and dtype of what they were."""

    __slots__ = ("data", "dtype", "metadata", "shape")

    def __init__(
        self,
        data: Any,
        shape: tuple[int, ...] | None = None,
        dtype: Any = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if metadata is None:
            metadata = {"shape": shape, "dtype": dtype}
        self.data = data
        self.metadata = dict(metadata)
        self.shape: tuple[int, ...] = tuple(self.metadata["shape"])
        self.dtype = np.dtype(self.metadata["dtype"])


def compressors_available() -> list[str | None]:
    """Return the schemes that work here."""
    packages = {"blosc": "blosc2", "zfp": "zfpy"}
    return [None, "zlib", *(s for s, package in packages.items() if find_spec(package))]


def init_compression(params: Mapping[str, Any]) -> tuple[Codec, Codec]:
    """Return compressor and decompressor for ``{"scheme": ..., **settings}``.

    Schemes: None; ``"zlib"`` (``level``); ``"blosc"`` (needs blosc2); ``"zfp"`` (needs zfpy;
    ``tolerance``, 1e-7 by default, makes it lossy); ``"custom"`` with ``compressor`` and
    ``decompressor``, each called with the remaining settings and the data.

    Raises
    ------
    BadValue
        The scheme is unknown, or a custom one is incomplete.
    MissingExtra
        The scheme's package is not installed.
    """
    settings = dict(params)
    scheme = settings.pop("scheme", None)
    if scheme == "custom":
        pair = settings.pop("compressor", None), settings.pop("decompressor", None)
        if not all(callable(f) for f in pair):
            raise BadValue(
                'scheme="custom" came without functions. Pass compressor= and decompressor=, each '
                "taking the settings and the data."
            )
        return partial(pair[0], settings), partial(pair[1], settings)
    makers = {None: _plain, "zlib": _zlib, "blosc": _blosc, "zfp": _zfp}
    if scheme not in makers:
        known = ", ".join(str(name) for name in (*makers, "custom"))
        raise BadValue(f"scheme={scheme!r} is unknown. Known schemes are: {known}.")
    return makers[scheme](settings)


def _plain(settings: dict[str, Any]) -> tuple[Codec, Codec]:
    del settings

    def pack(array: Array) -> CompressedObject:
        return CompressedObject(array.tobytes(), array.shape, array.dtype)

    def unpack(packed: CompressedObject) -> Array:
        return np.frombuffer(packed.data, dtype=packed.dtype).reshape(packed.shape)

    return pack, unpack


def _zlib(settings: dict[str, Any]) -> tuple[Codec, Codec]:
    level = settings.get("level", 1)
    return _bytewise(partial(zlib.compress, level=level), zlib.decompress)


def _blosc(settings: dict[str, Any]) -> tuple[Codec, Codec]:
    blosc: Any = _package("blosc2", "blosc")
    settings.pop("chunk_size", None)  # pyrevolve cut its bytes into chunks; blosc2 does it

    def pack(array: Array) -> CompressedObject:
        data = blosc.compress2(array, typesize=array.itemsize, **settings)
        return CompressedObject(data, array.shape, array.dtype)

    def unpack(packed: CompressedObject) -> Array:
        data = blosc.decompress2(packed.data)
        return np.frombuffer(data, dtype=packed.dtype).reshape(packed.shape)

    return pack, unpack


def _zfp(settings: dict[str, Any]) -> tuple[Codec, Codec]:
    zfpy: Any = _package("zfpy", "zfp")
    tolerance = settings.pop("tolerance", 1e-7)
    settings.pop("parallel", None)

    def pack(array: Array) -> CompressedObject:
        data = zfpy.compress_numpy(array, tolerance=tolerance, **settings)
        return CompressedObject(data, array.shape, array.dtype)

    def unpack(packed: CompressedObject) -> Array:
        return zfpy.decompress_numpy(packed.data)

    return pack, unpack


def _bytewise(press: Callable[..., bytes], release: Callable[..., bytes]) -> tuple[Codec, Codec]:
    def pack(array: Array) -> CompressedObject:
        raw = array.tobytes()
        data = press(raw)
        if len(data) >= len(raw):  # noise does not shrink; it must not grow either
            data = raw
        return CompressedObject(data, array.shape, array.dtype)

    def unpack(packed: CompressedObject) -> Array:
        full = packed.dtype.itemsize * int(np.prod(packed.shape))
        data = packed.data if len(packed.data) == full else release(packed.data)
        return np.frombuffer(data, dtype=packed.dtype).reshape(packed.shape)

    return pack, unpack


def _package(name: str, scheme: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"scheme={scheme!r} needs the package {name}, which is not installed. "
            f"Install it with: pip install {name}"
        ) from error
