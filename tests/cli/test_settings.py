"""Settings from a file and from the environment: what counts, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer

from nacre.cli.settings import (
    Option,
    Setting,
    list_options,
    name_variable,
    read_settings,
    resolve_settings,
)
from nacre.errors import InputError


def command(
    world: Annotated[str, typer.Argument(help="Where.")],
    policy: Annotated[Path, typer.Option("--new-policy")],
    steps: Annotated[int, typer.Option("--steps", min=1, max=9)] = 3,
    rate: Annotated[float | None, typer.Option("--rate", "-r")] = None,
    names: Annotated[list[Path] | None, typer.Option("--name")] = None,
    quiet: Annotated[bool, typer.Option("--quiet/--no-quiet", "-q")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    config: Annotated[Path | None, typer.Option("--config")] = None,
) -> None:
    """A command with an option of every kind."""


OPTIONS = list_options(command)
COMMANDS = {"train-online": OPTIONS, "bench": {"seed": OPTIONS["seed"]}}


def write(folder: Path, text: str) -> Path:
    path = folder / "nacre.toml"
    path.write_text(text, encoding="utf-8")
    return path


def resolve(path: Path | None = None, **variables: str) -> dict[str, Setting]:
    file = None if path is None else read_settings(path, COMMANDS)
    return resolve_settings("train-online", OPTIONS, file, variables)


def test_options_are_read_off_the_signature_arguments_and_the_file_left_out() -> None:
    assert list_options(command) == {
        "new-policy": Option("new-policy", "policy", str, required=True),
        "steps": Option("steps", "steps", int, default=3, low=1, high=9),
        "rate": Option("rate", "rate", float),
        "name": Option("name", "names", str, several=True),
        "quiet": Option("quiet", "quiet", bool, default=False),
        "seed": Option("seed", "seed", int, default=0, low=0),
    }


def test_variables_are_named_after_command_and_option() -> None:
    assert name_variable("new-policy", "train-online") == "NACRE_TRAIN_ONLINE_NEW_POLICY"
    assert name_variable("seed") == "NACRE_SEED"


def test_without_settings_there_are_defaults() -> None:
    assert resolve() == {name: Setting(option.default) for name, option in OPTIONS.items()}


def test_environment_counts_more_than_file_and_the_command_more_than_all(tmp_path: Path) -> None:
    path = write(tmp_path, "seed = 1\nquiet = true\n[train-online]\nseed = 2\nsteps = 4\n")
    place = str(path)
    found = resolve(path)
    assert found["seed"] == Setting(2, "file", place)
    assert found["steps"] == Setting(4, "file", place)
    assert found["quiet"] == Setting(True, "file", place)
    assert found["rate"] == Setting(None)
    found = resolve(path, NACRE_SEED="3", NACRE_QUIET="off", NACRE_TRAIN_ONLINE_STEPS="5")
    assert found["seed"] == Setting(3, "environment", "NACRE_SEED")
    assert found["quiet"] == Setting(False, "environment", "NACRE_QUIET")
    assert found["steps"] == Setting(5, "environment", "NACRE_TRAIN_ONLINE_STEPS")
    both = {"NACRE_SEED": "3", "NACRE_TRAIN_ONLINE_SEED": "4"}
    assert resolve(path, **both)["seed"] == Setting(4, "environment", "NACRE_TRAIN_ONLINE_SEED")
    file = read_settings(path, COMMANDS)
    assert resolve_settings("bench", COMMANDS["bench"], file, {})["seed"].value == 1


def test_values_of_every_kind(tmp_path: Path) -> None:
    text = '[train_online]\nnew_policy = "a.onnx"\nrate = 2\nname = ["x", "y"]\n'
    from_file = {name: one.value for name, one in resolve(write(tmp_path, text)).items()}
    assert from_file == {
        "new-policy": "a.onnx",
        "steps": 3,
        "rate": 2,
        "name": ["x", "y"],
        "quiet": False,
        "seed": 0,
    }
    found = resolve(
        NACRE_TRAIN_ONLINE_NEW_POLICY="a.onnx",
        NACRE_TRAIN_ONLINE_RATE="2",
        NACRE_TRAIN_ONLINE_NAME="x; y",
        NACRE_TRAIN_ONLINE_STEPS="",
    )
    assert {name: one.value for name, one in found.items()} == from_file
    assert found["steps"].source == "default"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sed = 3", "sed = 3: is no setting of all commands; did you mean seed?"),
        ("steps = 3", "steps = 3: is no setting of all commands; write it below [train-online]"),
        ("colour = 'red'", "those of all commands are seed, json, quiet"),
        ("bench = 1", "bench is a command: write [bench] and its options below"),
        ("seed = true", "seed = true: must be a whole number"),
        ("seed = -1", "seed = -1: must be at least 0"),
        ("[bensh]", "[bensh] is no command; did you mean bench?"),
        ("[zzz]", "[zzz] is no command; known are train-online, bench"),
        ("[bench]\nsede = 1", "bench.sede = 1: nacre bench has no such option; did you mean seed?"),
        ("[bench]\nx = 1", "bench.x = 1: nacre bench has no such option; known are seed"),
        ("[train-online]\nsteps = 1.5", "train-online.steps = 1.5: must be a whole number"),
        ("[train-online]\nsteps = 10", "train-online.steps = 10: must be at most 9"),
        ("[train-online]\nsteps = [1]", "train-online.steps = [1]: must be a whole number"),
        ("[train-online]\nrate = '1'", "train-online.rate = '1': must be a number"),
        ("[train-online]\nrate = true", "train-online.rate = true: must be a number"),
        ("[train-online]\nquiet = 1", "train-online.quiet = 1: must be true or false"),
        ("[train-online]\nnew-policy = 1", "train-online.new-policy = 1: must be text"),
        ("[train-online]\nname = ['x', 1]", "name = ['x', 1]: must be a list of text"),
        ("[train-online]\nnew-policy = {a = 1}", "new-policy = {'a': 1}: must be text"),
        ("seed = many", "is not TOML: Invalid value (at line 1, column 8)"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text + "\n")
    with pytest.raises(InputError) as caught:
        read_settings(path, COMMANDS)
    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)


def test_every_problem_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "sed = 1\n[bench]\nseed = 'a'\nx = 1\n[bensh]\n")
    with pytest.raises(InputError) as caught:
        read_settings(path, COMMANDS)
    assert len(caught.value.problems) == 4


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"# \xe9t\xe9\n")
    for name, words in (
        ("absent.toml", "no such file; --config names a file of settings in TOML"),
        (".", "cannot be read (Is a directory)"),
        ("latin.toml", "byte 2 is not UTF-8"),
    ):
        with pytest.raises(InputError) as caught:
            read_settings(tmp_path / name, COMMANDS)
        assert str(caught.value).startswith(f"{tmp_path / name}: {words}")


def test_what_is_wrong_in_the_environment_is_named() -> None:
    with pytest.raises(InputError) as caught:
        resolve(
            NACRE_SEED="many",
            NACRE_TRAIN_ONLINE_STEPS="10",
            NACRE_TRAIN_ONLINE_QUIET="perhaps",
            NACRE_TRAIN_ONLINE_STEP="1",
            NACRE_BENCH_X="no business of this command",
            NACRE_RECORD="somewhere",
        )
    assert sorted(caught.value.problems) == [
        "NACRE_SEED = 'many': must be a whole number",
        "NACRE_TRAIN_ONLINE_QUIET = 'perhaps': must be true or false",
        "NACRE_TRAIN_ONLINE_STEP: nacre train-online has no such option; did you mean "
        "NACRE_TRAIN_ONLINE_STEPS?",
        "NACRE_TRAIN_ONLINE_STEPS = 10: must be at most 9",
    ]


def test_long_values_are_cut_short(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(write(tmp_path, f"seed = '{'x' * 500}'\n"), COMMANDS)
    assert len(str(caught.value)) < len(str(tmp_path)) + 120
