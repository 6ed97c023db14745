"""The code of the documentation runs, and what the documentation names exists."""

from __future__ import annotations

import doctest
import os
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from adjourn.cli import main

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[a-z ]+): (?P<words>[^>]*?) -->\n)?^```python\n(?P<code>.*?)^```$",
    re.M | re.S,
)


def blocks(page):
    """Yield line, mark, its words and code of every fenced block of Python.

    ``<!-- needs: package -->`` before a block skips it where the package is not installed;
    ``<!-- not run: reason -->`` leaves it out.
    """
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("code"))
        yield line, found["mark"], found["words"], found["code"]


@pytest.fixture
def single_precision():
    """JAX as a user finds it, whatever other tests have set."""
    if find_spec("jax") is None:
        yield
        return
    jax = import_module("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """The blocks of a page run one after the other, in one namespace, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "page"}
    for line, mark, words, code in blocks(page):
        if mark == "not run":
            continue
        if mark == "needs" and not all(find_spec(name) for name in words.replace(",", " ").split()):
            continue
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, space, page.name, str(page), line)
            failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
            assert not failed
            space.update(test.globs)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), space)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_files_a_page_names_exist(page):
    """Tests, benchmarks and examples that are named in the text are there."""
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:tests|benchmarks|examples)/[\w/]+(?:\.py)?", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"\]\(([\w./-]+\.(?:md|svg|png))[#)]", text):
        assert (page.parent / name).exists(), name


def test_every_command_of_the_table_exists(capsys):
    """The page of the command line and the parser name the same commands."""
    with pytest.raises(SystemExit):
        main(["--help"])
    offered = set(re.findall(r"^    (\w+)", capsys.readouterr().out, re.M))
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`adjourn (\w+)", text))
    assert offered <= told


ROOMS = [
    "adjourn",
    *(
        f"adjourn.{name}"
        for name in (
            "calltree",
            "checkpoint_schedules",
            "devito",
            "jax",
            "models",
            "mpi",
            "optimum",
            "planning",
            "problem",
            "reports",
            "running",
            "schedules",
            "tapenade",
            "testing",
            "tiers",
        )
    ),
]


@pytest.mark.parametrize("room", ROOMS)
def test_the_reference_has_every_public_name(room):
    """Each name of a room's ``__all__`` is in the reference."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$|`(?:[\w.]+\.)?(\w+)`", text, re.M))
    listed = {name for pair in listed for name in pair}
    assert not set(import_module(room).__all__) - listed
