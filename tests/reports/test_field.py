"""Images: valid PNG files with the values asked for."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest

from adjourn import BadValue
from adjourn.reports import Field, field_of
from adjourn.reports._field import png


def decode(data):
    """Return palette and indices of an unfiltered 8-bit PNG file, checksums verified."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    width, height, depth, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colours) == (8, 3)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(256, 3), rows[:, 1:]


def test_a_png_holds_its_indices():
    """Writing and decoding an image gives the indices back."""
    levels = np.random.default_rng(1).integers(0, 256, (7, 13), dtype=np.uint8)
    palette, seen = decode(png(levels, bytes(range(256)) * 3))
    assert np.array_equal(seen, levels)
    assert palette.shape == (256, 3)


def test_a_speed_runs_from_least_to_largest():
    """The least value has the first colour, the largest the last."""
    made = field_of([[1.5, 2.0], [3.0, 3.5]], (10, 20), name="v", unit="km/s")
    _, levels = decode(made.image)
    assert (levels[0, 0], levels[1, 1]) == (0, 255)
    assert (made.low, made.high, made.down, made.across) == (1.5, 3.5, 20, 40)


def test_a_signed_field_is_symmetric_about_zero():
    """Zero is in the middle, whatever the values; outliers saturate."""
    values = np.zeros((20, 20))
    values[0, 0], values[5] = -1000.0, 2.0
    made = field_of(values, (1, 1), name="g", unit="1", ramp="signed")
    _, levels = decode(made.image)
    assert made.low == -made.high
    assert levels[0, 0] == 0
    assert levels[10, 10] in (127, 128)
    assert "Largest magnitude 1e+03 1." in made.note


def test_a_large_field_is_thinned():
    """A page has no use for more than 640 pixels a side."""
    made = field_of(np.ones((10, 3000)), (1, 1), name="v", unit="km/s")
    _, levels = decode(made.image)
    assert levels.shape == (2, 600)


def test_a_field_goes_through_json_unchanged():
    """The image travels in base 64."""
    made = field_of([[1.0, 2.0]], (1, 1), name="v", unit="km/s")
    assert Field.from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize("values", [[1.0, 2.0], [[np.nan]], np.zeros((0, 3))])
def test_what_cannot_be_shown_is_refused(values):
    """One axis, gaps or nothing at all: named, with what to pass."""
    with pytest.raises(BadValue, match=r"cannot be shown\. Pass two axes of finite values"):
        field_of(values, (1, 1), name="v", unit="km/s")
