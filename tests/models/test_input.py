"""Models and positions from files, and every way in which a file can be wrong."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from adjourn import BadValue, MissingExtra, WrongType
from adjourn.errors import BadFile
from adjourn.models import Acoustic, layered_model, read_positions, read_velocity

MODEL = layered_model((21, 34)).astype(np.float32)


def raw(path, array=MODEL):
    array.tofile(path)
    return path


def npy(path, array=MODEL):
    np.save(path, array)
    return path


def test_raw_float32_is_read_with_its_shape(tmp_path):
    """Depth slowest by default; another axis may be depth."""
    file = raw(tmp_path / "model.f32")
    assert np.array_equal(read_velocity(file, shape=(21, 34)), MODEL)
    turned = raw(tmp_path / "turned.bin", np.ascontiguousarray(MODEL.T))
    model = read_velocity(turned, shape=(34, 21), depth_axis=1)
    assert np.array_equal(model, MODEL)
    assert model.flags.c_contiguous


def test_numpy_files_know_their_shape(tmp_path):
    """Any real type and order; float64 stays float64."""
    file = npy(tmp_path / "model.npy", np.asfortranarray(MODEL.astype(np.float64)))
    model = read_velocity(file)
    assert model.dtype == np.float64
    assert np.array_equal(model, MODEL)
    whole = npy(tmp_path / "whole.npy", (1000 * MODEL).astype(np.int16))
    assert np.allclose(read_velocity(whole, unit="m/s", shape=(21, 34)), MODEL)
    cube = npy(tmp_path / "cube.npy", np.full((3, 4, 5), 2.0, np.float32))
    assert read_velocity(cube, depth_axis=-1).shape == (5, 3, 4)


def test_metres_per_second_are_converted(tmp_path):
    """The result is in km/s whatever the file's unit."""
    file = raw(tmp_path / "model.f32", MODEL * np.float32(1000))
    assert np.allclose(read_velocity(file, shape=(21, 34), unit="m/s"), MODEL, rtol=1e-6)


def test_segy_in_two_dimensions(tmp_path):
    """A trace is a column; depth becomes the first axis."""
    segyio = pytest.importorskip("segyio")
    file = tmp_path / "model.sgy"
    segyio.tools.from_array(str(file), np.ascontiguousarray(MODEL.T))
    model = read_velocity(file, shape=(21, 34))
    assert np.array_equal(model, MODEL)
    with pytest.raises(BadFile, match=r"has shape \(21, 34\); shape=\(34, 21\) was asked for"):
        read_velocity(file, shape=(34, 21))


def test_segy_in_three_dimensions_whatever_the_order_of_the_traces(tmp_path):
    """Inline and crossline numbers place the traces."""
    segyio = pytest.importorskip("segyio")
    cube = np.random.default_rng(0).uniform(1.5, 4.0, (3, 4, 6)).astype(np.float32)
    file = tmp_path / "cube.segy"
    segyio.tools.from_array(str(file), cube)
    assert np.array_equal(read_velocity(file), np.moveaxis(cube, 2, 0))
    with segyio.open(str(file), "r+", ignore_geometry=True) as opened:
        first, last = opened.trace[0].copy(), opened.trace[11].copy()
        lines = [(opened.header[k][189], opened.header[k][193]) for k in (0, 11)]
        opened.trace[0], opened.trace[11] = last, first
        for k, (line, crossing) in zip((11, 0), lines, strict=True):
            opened.header[k] = {189: line, 193: crossing}
    assert np.array_equal(read_velocity(file), np.moveaxis(cube, 2, 0))


def test_damaged_segy_is_an_error(tmp_path):
    """Files cut short, and files that are no SEG-Y at all."""
    segyio = pytest.importorskip("segyio")
    file = tmp_path / "model.sgy"
    segyio.tools.from_array(str(file), np.ascontiguousarray(MODEL.T))
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(BadFile, match="cannot be read as SEG-Y: trace count inconsistent"):
        read_velocity(file)
    file.write_bytes(b"no seismics here")
    with pytest.raises(BadFile, match="cannot be read as SEG-Y"):
        read_velocity(file)


def test_segy_without_segyio_names_the_extra(tmp_path, monkeypatch):
    """The message is the command to run."""
    plain = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "segyio":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r'pip install "adjourn\[segy\]"'):
        read_velocity(raw(tmp_path / "model.sgy"))


BAD_VALUES = [
    ("zero", 0.0, {}, "reaches from 0 to 3.5 km/s; velocities are above 0"),
    ("negative", -1.0, {}, "reaches from -1 to 3.5 km/s"),
    ("gap", np.nan, {}, "has 1 values that are not finite"),
]


@pytest.mark.parametrize(("name", "value", "options", "text"), BAD_VALUES)
def test_values_that_are_no_velocities(tmp_path, name, value, options, text):
    """Gaps and impossible values are named, never filled in."""
    model = MODEL.copy()
    model[3, 4] = value
    with pytest.raises(BadFile, match=text):
        read_velocity(npy(tmp_path / f"{name}.npy", model), **options)


def test_wrong_units_are_met(tmp_path):
    """Each unit mistaken for the other, and an unknown one."""
    file = npy(tmp_path / "model.npy")
    fast = npy(tmp_path / "fast.npy", MODEL * np.float32(1000))
    with pytest.raises(BadValue, match=r'that looks like m/s\. Pass unit="m/s"'):
        read_velocity(fast)
    with pytest.raises(BadValue, match=r"from 1\.5 to 3\.5: that looks like km/s"):
        read_velocity(file, unit="m/s")
    with pytest.raises(BadValue, match="unit='ft/s' is unknown"):
        read_velocity(file, unit="ft/s")
    with pytest.raises(BadFile, match="no rock is so fast"):
        read_velocity(npy(tmp_path / "x.npy", MODEL * np.float32(1e6)), unit="m/s")


def test_wrong_shapes_are_met(tmp_path):
    """What the file holds, what was asked for, and a shape that would fit."""
    file = raw(tmp_path / "model.f32")
    with pytest.raises(BadValue, match="is raw: 714 float32 values of unknown shape"):
        read_velocity(file)
    with pytest.raises(
        BadFile, match=r"holds 714 float32 values; shape=\(21, 30\) needs 630. \(21, 34\) would fit"
    ):
        read_velocity(file, shape=(21, 30))
    with pytest.raises(BadFile, match=r"shape=\(5, 5\) needs 25. Pass the shape"):
        read_velocity(file, shape=(5, 5))
    with pytest.raises(BadValue, match=r"shape=\(714,\) has 1 axes"):
        read_velocity(file, shape=(714,))
    with pytest.raises(BadValue, match="shape=1 is too small"):
        read_velocity(file, shape=(714, 1))
    with pytest.raises(WrongType, match=r"shape=21.0 is of type float"):
        read_velocity(file, shape=(21.0, 34))
    with pytest.raises(BadValue, match="depth_axis=2; the model has axes 0 to 1"):
        read_velocity(file, shape=(21, 34), depth_axis=2)
    with pytest.raises(BadFile, match=r"holds an array of shape \(714,\)"):
        read_velocity(npy(tmp_path / "flat.npy", MODEL.ravel()))
    with pytest.raises(BadFile, match=r"has shape \(21, 34\); shape=\(34, 21\) was asked for"):
        read_velocity(npy(tmp_path / "model.npy"), shape=(34, 21))


def test_wrong_files_are_met(tmp_path):
    """Missing, empty, odd, big-endian, a folder, a pickle, complex numbers."""
    with pytest.raises(BadFile, match=r"none\.f32 does not exist"):
        read_velocity(tmp_path / "none.f32", shape=(2, 2))
    with pytest.raises(BadFile, match="is not a file"):
        read_velocity(tmp_path)
    odd = tmp_path / "odd.f32"
    odd.write_bytes(b"12345")
    with pytest.raises(BadFile, match="has 5 bytes, which are no whole float32 values"):
        read_velocity(odd, shape=(2, 2))
    odd.write_bytes(b"")
    with pytest.raises(BadFile, match="has 0 bytes"):
        read_velocity(odd, shape=(2, 2))
    with pytest.raises(BadFile, match="is big-endian"):
        read_velocity(raw(tmp_path / "big.f32", MODEL.astype(">f4")), shape=(21, 34))
    np.save(tmp_path / "pickle.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(BadFile, match="is not a NumPy array"):
        read_velocity(tmp_path / "pickle.npy")
    with pytest.raises(BadFile, match="does not hold one array of real numbers"):
        read_velocity(npy(tmp_path / "complex.npy", MODEL + 1j))
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(BadFile, match="is not a NumPy array"):
        read_velocity(tmp_path / "text.npy")
    assert issubclass(BadFile, OSError)


def test_positions_from_text_and_numpy(tmp_path):
    """Blanks or commas, comments and empty lines; or an array."""
    text = tmp_path / "receivers.txt"
    text.write_text("# depth, position\n20, 15\n\n20\t30  # beside the road\n20,45.5\n")
    expected = [[20, 15], [20, 30], [20, 45.5]]
    assert np.array_equal(read_positions(text, 2), expected)
    assert np.array_equal(read_positions(npy(tmp_path / "r.npy", np.array(expected)), 2), expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("20 15\n20\n", "line 2 has 1 numbers; the model has 2 axes"),
        ("depth x\n20 15\n", "line 1: 'depth x' is not a row of numbers"),
        ("# nothing\n", "holds no position"),
        ("20 15\n20 nan\n", "position 1 is not finite"),
    ],
)
def test_wrong_tables_are_met(tmp_path, content, message):
    """The line is named."""
    file = tmp_path / "receivers.txt"
    file.write_text(content)
    with pytest.raises(BadFile, match=message):
        read_positions(file, 2)


def test_wrong_position_files_are_met(tmp_path):
    """Missing files, files that are no text, arrays of another shape."""
    with pytest.raises(BadFile, match="does not exist"):
        read_positions(tmp_path / "none.txt", 2)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(BadFile, match="is not a text file"):
        read_positions(tmp_path / "binary.txt", 2)
    with pytest.raises(
        BadFile, match=r"shape \(2, 3\); positions in 2 dimensions need \(count, 2\)"
    ):
        read_positions(npy(tmp_path / "r.npy", np.ones((2, 3))), 2)


def test_marmousi_is_read(shared):
    """The public model: 221 depths by 601 positions, water on top."""
    model = read_velocity(shared / "data" / "marmousi_221x601.f32", shape=(221, 601))
    assert model.shape == (221, 601)
    assert np.allclose(model[0], 1.5)
    assert 5.6 < model.max() < 5.7


def test_shots_from_a_file_of_sources(tmp_path):
    """One problem serves shot after shot: moved sources give the bits of new problems."""
    file = tmp_path / "sources.txt"
    file.write_text("20 60\n20 160\n25 255\n")
    common = {"spacing": 10.0, "steps": 60, "receivers": [(20.0, 40.0), (20.0, 290.0)]}

    def gradient(shot):
        shot.reserve(60)
        shot.begin()
        shot.record(0, 60, replay=False)
        shot.turn()
        shot.reverse(0, 60)
        return shot.gradient

    data = np.random.default_rng(0).standard_normal((60, 2))
    shot = Acoustic(MODEL, source=(20.0, 10.0), observed=data, **common)
    for source in read_positions(file, 2):
        shot.set_source(source)
        alone = Acoustic(MODEL, source=source, observed=data, **common)
        assert np.array_equal(gradient(shot), gradient(alone))
    with pytest.raises(BadValue, match=r"source\[0\] lies at"):
        shot.set_source((20.0, 1e6))
