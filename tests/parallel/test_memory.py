"""What a process keeps between tasks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.parallel import memory


def test_programs_stay_while_there_is_room_and_go_then(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    @jax.jit
    def double(x: jax.Array) -> jax.Array:
        compiled.append(1)
        return 2 * x

    double(jnp.ones(3))
    memory.let_programs_go()
    double(jnp.ones(3))
    assert len(compiled) == 1
    monkeypatch.setattr(memory, "MOST_GROWTH", -np.inf)
    memory.let_programs_go()
    double(jnp.ones(3))
    assert len(compiled) == 2


def test_what_is_held_is_measured() -> None:
    before = memory.measure_memory()
    held = np.ones(10_000_000)
    assert memory.measure_memory() - before > 0.9 * held.nbytes
