"""The revolvers on a small non-linear simulation, in memory, on disk, compressed and mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjourn import (
    BadValue,
    BudgetTooSmall,
    CorruptSnapshot,
    MissingExtra,
    NotSupported,
    ScheduleError,
    WrongType,
)
from adjourn.errors import TierFull
from adjourn.pyrevolve import (
    BytesStorage,
    Checkpoint,
    DiskRevolver,
    DiskStorage,
    MemoryRevolver,
    MultiLevelRevolver,
    NumpyStorage,
    Operator,
    Profiler,
    Revolver,
    SingleLevelRevolver,
)
from adjourn.pyrevolve.compression import init_compression


class Logistic:
    """x[n+1] = r x[n] (1 - x[n]) on 50 points; the reverse of a step reads x[n]."""

    def __init__(self, steps: int, dtype: Any = np.float64) -> None:
        self.steps = steps
        self.start = np.linspace(0.1, 0.9, 50, dtype=dtype)
        self.x = self.start.copy()
        self.adjoint = np.zeros(50, dtype)
        self.step = 0
        self.forward_steps = 0
        self.calls: list[tuple[str, int, int]] = []

    def forward(self, t_start: int, t_end: int) -> None:
        assert t_start == self.step
        self.calls.append(("forward", t_start, t_end))
        for _ in range(t_start, t_end):
            self.before = self.x.copy()
            self.x[...] = 3.7 * self.x * (1 - self.x)
            self.forward_steps += 1
        self.step = t_end

    def reverse(self, t_start: int, t_end: int, stored: bool = False) -> None:
        self.calls.append(("reverse", t_start, t_end))
        assert t_end - t_start == 1
        x = self.x if stored and self.step == t_start else self.before
        if t_end == self.steps:
            self.adjoint[...] = 1
        self.adjoint *= 3.7 * (1 - 2 * x)

    def expected(self) -> np.ndarray:
        x, states = self.start.copy(), []
        for _ in range(self.steps):
            states.append(x)
            x = 3.7 * x * (1 - x)
        adjoint = np.ones_like(x)
        for x in reversed(states):
            adjoint *= 3.7 * (1 - 2 * x)
        return adjoint


class Live(Checkpoint):
    def __init__(self, model: Logistic) -> None:
        self.model = model

    @property
    def dtype(self) -> Any:
        return self.model.x.dtype

    @property
    def size(self) -> int:
        return self.model.x.size

    def get_data(self, timestep: int) -> list[np.ndarray]:
        self.model.step = timestep
        return [self.model.x[:20], self.model.x[20:]]


class Runs(Operator):
    def __init__(self, run: Any) -> None:
        self.run = run

    def apply(self, **times: int) -> None:
        self.run(**times)


def parts(steps: int, dtype: Any = np.float64) -> tuple[Logistic, Live, Runs, Runs]:
    model = Logistic(steps, dtype)
    return model, Live(model), Runs(model.forward), Runs(model.reverse)


@pytest.mark.parametrize("slots", [1, 2, 3, 7, 40, 60])
@pytest.mark.parametrize("disk", [False, True])
def test_the_gradient_is_that_of_the_stored_history(slots: int, disk: bool, tmp_path: Path) -> None:
    """Bit for bit, in memory and on disk, and no file is left."""
    model, live, forward, reverse = parts(40)
    revolver = SingleLevelRevolver(
        live, forward, reverse, slots, 40, diskstorage=disk, filedir=str(tmp_path)
    )
    revolver.apply_forward()
    revolver.apply_reverse()
    assert np.array_equal(model.adjoint, model.expected())
    assert list(tmp_path.iterdir()) == []


def test_calls_and_counts_are_pyrevolve_s() -> None:
    """t(n, s) plain steps, one at the turn, and one before every other reverse step."""
    model, live, forward, reverse = parts(10)
    profiler = Profiler()
    revolver = Revolver(live, forward, reverse, 3, 10, profiler=profiler)
    revolver.apply_forward()
    revolver.apply_reverse()
    assert model.forward_steps == 15 + 1 + 9
    assert profiler.counts["forward"] == {"takeshot": 3, "advance": 3, "lastfw": 1}
    assert profiler.counts["reverse"] == {
        "reverse": 10,
        "restore": 9,
        "advance": 6,
        "takeshot": 3,
    }
    assert profiler.counts["storage"] == {"copy_save": 6, "copy_load": 9}
    assert model.calls[:4] == [
        ("forward", 0, 4),
        ("forward", 4, 7),
        ("forward", 7, 9),
        ("forward", 9, 10),
    ]
    assert "Action lastfw" in profiler.summary()
    assert profiler.get_dict()["reverse_restore_counts"] == 9
    assert revolver.ratio == 1.5


def test_a_caller_may_say_that_stored_data_suffice() -> None:
    """reverse_reads="state" drops the forward step before each reverse step."""
    model, live, forward, _ = parts(10)
    reverse = Runs(lambda **t: model.reverse(**t, stored=True))
    revolver = Revolver(live, forward, reverse, 3, 10, reverse_reads="state")
    revolver.apply_forward()
    revolver.apply_reverse()
    assert model.forward_steps == 16
    assert np.array_equal(model.adjoint, model.expected())


def test_blocks_of_steps_are_reversed_at_once() -> None:
    """With block=k the operators get ranges of k steps, the short one first."""
    ranges: list[tuple[str, int, int]] = []
    forward = Runs(lambda t_start, t_end: ranges.append(("f", t_start, t_end)))
    reverse = Runs(lambda t_start, t_end: ranges.append(("r", t_start, t_end)))
    live = Live(Logistic(1))
    revolver = MemoryRevolver(live, forward, reverse, 2, 11, block=4)
    revolver.apply_forward()
    revolver.apply_reverse()
    assert [r for r in ranges if r[0] == "r"] == [("r", 7, 11), ("r", 3, 7), ("r", 0, 3)]
    before = [ranges[i - 1] for i, r in enumerate(ranges) if r[0] == "r"]
    assert before == [("f", 7, 11), ("f", 3, 7), ("f", 0, 3)]


def test_a_budget_in_bytes_takes_the_place_of_a_number() -> None:
    """The slots are what the budget holds, at most the steps."""
    _, live, forward, reverse = parts(40)
    assert Revolver(live, forward, reverse, None, 40, budget="2 KiB").n_checkpoints == 5
    assert Revolver(live, forward, reverse, None, 40, budget="1 GiB").n_checkpoints == 40
    assert Revolver(live, forward, reverse, None, 40).n_checkpoints == 4
    with pytest.raises(BudgetTooSmall, match="no checkpoint of 400 B") as caught:
        Revolver(live, forward, reverse, None, 40, budget=399)
    assert caught.value.least == 400
    with pytest.raises(BadValue, match="both given"):
        Revolver(live, forward, reverse, 3, 40, budget=999)


@pytest.mark.parametrize("scheme", [{"scheme": None}, {"scheme": "zlib", "level": 6}])
def test_compressed_checkpoints_come_back(scheme: dict[str, Any]) -> None:
    """A lossless scheme changes no bit."""
    model, live, forward, reverse = parts(25)
    revolver = MemoryRevolver(live, forward, reverse, 4, 25, compression_params=scheme)
    revolver.apply_forward()
    revolver.apply_reverse()
    assert np.array_equal(model.adjoint, model.expected())


def test_a_custom_scheme_gets_its_settings() -> None:
    """The two functions take what is left of the dictionary, and the data."""

    def halve(settings: Any, array: Any) -> Any:
        from adjourn.pyrevolve.compression import CompressedObject  # noqa: PLC0415

        return CompressedObject((array / settings["by"]).tobytes(), array.shape, array.dtype)

    def double(settings: Any, packed: Any) -> Any:
        return np.frombuffer(packed.data, packed.dtype).reshape(packed.shape) * settings["by"]

    params = {"scheme": "custom", "compressor": halve, "decompressor": double, "by": 2}
    model, live, forward, reverse = parts(25)
    revolver = MemoryRevolver(live, forward, reverse, 4, 25, compression_params=params)
    revolver.apply_forward()
    revolver.apply_reverse()
    assert np.array_equal(model.adjoint, model.expected())


@pytest.mark.parametrize("sizes", [(1, 4), (3, 3), (2, 30)])
def test_a_hierarchy_of_storages_stays_within_each_level(
    sizes: tuple[int, int], tmp_path: Path
) -> None:
    """Memory and disk, costs known: the gradient is exact and no level overflows."""
    model, live, forward, reverse = parts(40)
    storages = [
        NumpyStorage(50, sizes[0], np.float64),
        DiskStorage(50, sizes[1], np.float64, filedir=str(tmp_path), wd=2, rd=2),
    ]
    revolver = MultiLevelRevolver(live, forward, reverse, 40, storages)
    revolver.apply_forward()
    revolver.apply_reverse()
    assert np.array_equal(model.adjoint, model.expected())
    assert revolver.makespan > 80
    assert revolver.storage_ckps(0)
    assert revolver.storage_ckps(2) is None
    assert not any(revolver._slots)
    assert revolver.ratio * 40 + 1 + 39 == model.forward_steps


def test_a_revolver_can_be_used_for_many_shots() -> None:
    """apply_forward starts anew; the storage is reused."""
    model, live, forward, reverse = parts(20)
    revolver = Revolver(live, forward, reverse, 3, 20)
    place = revolver.storage_list[0].storage.ctypes.data
    for _ in range(3):
        model.x[...] = model.start
        model.step = 0
        revolver.apply_forward()
        revolver.apply_reverse()
        assert np.array_equal(model.adjoint, model.expected())
    assert revolver.storage_list[0].storage.ctypes.data == place


def test_sweeps_out_of_order_are_refused() -> None:
    """Reverse before forward, reverse twice, and reverse after a failure each say so."""
    _, live, forward, reverse = parts(5)
    revolver = Revolver(live, forward, reverse, 2, 5)
    with pytest.raises(ScheduleError, match="the forward sweep was not run"):
        revolver.apply_reverse()
    revolver.apply_forward()
    revolver.apply_reverse()
    with pytest.raises(ScheduleError, match="was reversed already"):
        revolver.apply_reverse()
    revolver.fwd_operator = Runs(lambda **t: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        revolver.apply_forward()
    with pytest.raises(ScheduleError, match="ended with an error"):
        revolver.apply_reverse()


def test_bad_constructor_arguments_are_refused() -> None:
    """Zero, negative and missing numbers, unknown schemes and storages."""
    _, live, forward, reverse = parts(5)
    storage = NumpyStorage(50, 2, np.float64)

    def multi(storages: Any) -> Any:
        return MultiLevelRevolver(live, forward, reverse, 5, storages)

    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: Revolver(live, forward, reverse, 0, 5), BadValue, "n_checkpoints=0"),
        (lambda: Revolver(live, forward, reverse, -1, 5), BadValue, "n_checkpoints=-1"),
        (lambda: Revolver(live, forward, reverse, 2, 0), BadValue, "n_timesteps=0"),
        (lambda: Revolver(live, forward, reverse, 2, None), NotSupported, "n_timesteps is None"),
        (lambda: Revolver(live, forward, reverse, 2, 5, block=0), BadValue, "block=0"),
        (lambda: Revolver(live, forward, reverse, 2, 5, block=6), BadValue, "block=6"),
        (
            lambda: Revolver(live, forward, reverse, 2, 5, reverse_reads="all"),
            BadValue,
            "reverse_reads='all'",
        ),
        (lambda: multi([]), BadValue, "storage_list is empty"),
        (lambda: multi(None), BadValue, "storage_list is None"),
        (lambda: multi([3]), WrongType, "holds a int"),
        (lambda: init_compression({"scheme": "lz"}), BadValue, "Known schemes are"),
        (lambda: init_compression({"scheme": "custom"}), BadValue, "without functions"),
        (lambda: NumpyStorage(0, 2, np.float32), BadValue, "size_ckp=0"),
        (lambda: storage[2], BadValue, "numbers 0 to 1"),
        (lambda: storage.load(1, []), ScheduleError, "does not hold it"),
        (lambda: storage.pop([]), ScheduleError, "holds nothing"),
        (lambda: storage.peek([]), ScheduleError, "holds nothing"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()


def test_a_missing_compressor_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheme whose package is not there says which to install."""
    monkeypatch.setitem(__import__("sys").modules, "zfpy", None)
    with pytest.raises(MissingExtra, match="pip install zfpy"):
        init_compression({"scheme": "zfp"})


def test_data_are_never_rounded_or_cut_in_silence() -> None:
    """float64 into a float32 storage, too much data, other shapes: refused by name."""
    storage = NumpyStorage(6, 2, np.float32)
    with pytest.raises(WrongType, match="float64 was saved in storage 'MemoryStorage' of float32"):
        storage.save(0, [np.zeros(3)])
    with pytest.raises(BadValue, match="arrays of 7 entries"):
        storage.save(0, [np.zeros(7, np.float32)])
    storage.save(0, [np.arange(6, dtype=np.float32).reshape(2, 3)])
    with pytest.raises(BadValue, match=r"shapes \[\(3, 2\)\]"):
        storage.load(0, [np.zeros((3, 2), np.float32)])


def test_strided_arrays_are_saved_as_they_are() -> None:
    """Any strides go, also where the last one is not an item."""
    storage = NumpyStorage(6, 1, np.float32)
    data = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    storage.save(0, [data])
    back = np.zeros((3, 4), np.float32).T[::2]
    storage.load(0, [back])
    assert np.array_equal(back, data)


@pytest.mark.parametrize("kind", [NumpyStorage, DiskStorage])
def test_the_stack_interface(kind: Any, tmp_path: Path) -> None:
    """push, peek, pop; one push too many is an error, not a loss."""
    options = {"filedir": str(tmp_path)} if kind is DiskStorage else {}
    storage = kind(2, 2, np.float64, **options)
    assert storage.isEmpty()
    for value in (1.0, 2.0):
        storage.push([np.full(2, value)])
    assert storage.isFull()
    with pytest.raises(TierFull, match="one more was pushed"):
        storage.push([np.full(2, 3.0)])
    out = np.zeros(2)
    for call, value in ((storage.peek, 2), (storage.pop, 2), (storage.pop, 1)):
        call([out])
        assert out[0] == value
    assert storage.isEmpty()
    assert storage.maxsize == 4
    assert storage.maxsize_in_bytes == 32


def test_bytes_that_do_not_shrink_are_refused_when_full() -> None:
    """Compressed checkpoints share the room; random data take all of it."""
    rng = np.random.default_rng(0)
    storage = BytesStorage(800, 2, np.float64, init_compression({"scheme": "zlib"}))
    storage.save(0, [np.zeros(100)])
    storage.save(1, [rng.standard_normal(100)])
    assert 0 < storage.nbytes <= storage.maxsize_in_bytes == 1600
    with pytest.raises(TierFull, match="gained too little"):
        storage.save(0, [rng.standard_normal(200)])


def test_a_kept_file_is_kept_and_a_changed_byte_is_met(tmp_path: Path) -> None:
    """keepfiles=True names the file; damage is found at the load."""
    storage = DiskStorage(50, 1, np.float64, filedir=str(tmp_path), keepfiles=True)
    storage.save(0, [np.arange(50.0)])
    path = Path(storage.datFileName)
    raw = bytearray(path.read_bytes())
    raw[raw.rindex(np.float64(49.0).tobytes())] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CorruptSnapshot):
        storage.load(0, [np.zeros(50)])
    del storage
    assert path.exists()


def test_a_disk_revolver_leaves_nothing(tmp_path: Path) -> None:
    """The file has no name while it is used."""
    model, live, forward, reverse = parts(12)
    revolver = DiskRevolver(live, forward, reverse, 3, 12, filedir=str(tmp_path))
    revolver.apply_forward()
    assert list(tmp_path.iterdir()) == []
    revolver.apply_reverse()
    revolver.storage_list[0].removeDatdir()
    assert np.array_equal(model.adjoint, model.expected())
