"""Keys of tasks: they follow from the seed and the name alone."""

from __future__ import annotations

import jax
import numpy as np

from nacre.advice.setting import Setting
from tests.support.rooms import GIVEN_ALONE, make_setting


def read_key(setting: Setting, name: str) -> bytes:
    return np.asarray(jax.random.key_data(setting.key(name))).tobytes()


def test_keys_follow_from_seed_and_name_alone() -> None:
    setting, again, other = make_setting(), make_setting(GIVEN_ALONE), make_setting(seed=104)
    assert read_key(setting, "a") == read_key(again, "a")
    assert read_key(setting, "a") != read_key(setting, "b")
    assert read_key(setting, "a") != read_key(other, "a")
