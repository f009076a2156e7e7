"""Make the bundled log and policies: `python scripts/make_example.py [DIRECTORY]`.

The same bytes come out whenever it is run with the same versions of the libraries.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from nacre import examples
from nacre.logs import write_log
from nacre.policies import MLP, MLPPolicy, Signature, write_policy
from nacre.simulators import LinearWorld

SEED = 0
N_TRANSITIONS = 10_000
HORIZON = 100

OLD_GAIN, OLD_STD = (-0.4, -0.6), 0.8
NEW_GAIN, NEW_STD = (-1.2, -1.8), 0.3


def make_policy(world: LinearWorld, gain: tuple[float, float], std: float) -> MLPPolicy:
    """The push gain · (position, velocity) with normal noise, as a network of one layer."""
    weight = jnp.stack([jnp.asarray(gain), jnp.zeros(2)], axis=1)
    network = MLP((weight,), (jnp.asarray([0.0, np.log(std)]),), ("identity",))
    signature = Signature(world.observation_space, world.action_space)
    policy = MLPPolicy(network, None, signature, "gaussian")
    policy.check()
    return policy


def main(directory: Path) -> None:
    world = examples.make_world()
    old = make_policy(world, OLD_GAIN, OLD_STD)
    new = make_policy(world, NEW_GAIN, NEW_STD)
    log = world.sample_log(examples.as_linear(old), N_TRANSITIONS, seed=SEED, horizon=HORIZON)
    directory.mkdir(parents=True, exist_ok=True)
    write_log(log, directory / "log.parquet")
    write_policy(old, directory / "old.safetensors", {"controller": "in force", "gain": OLD_GAIN})
    write_policy(new, directory / "new.safetensors", {"controller": "proposed", "gain": NEW_GAIN})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else examples.find_directory())
