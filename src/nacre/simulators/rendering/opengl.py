"""MuJoCo's own renderer, where OpenGL works without a window."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BACKENDS = ("egl", "osmesa", "glfw")
# What MuJoCo itself understands as a wish not to use OpenGL.
_NO_OPENGL = ("disable", "disabled", "off", "false", "0")
_PROBE = """
import mujoco
from mujoco.{backend} import GLContext
context = GLContext(64, 64)
context.make_current()
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
print("works")
"""


@functools.cache
def find_opengl() -> str | None:
    """The way by which MuJoCo can draw without a window here, or None; looked for once.

    The environment variable MUJOCO_GL chooses it, as everywhere with MuJoCo, or forbids it ("off").
    It is tried in another process: where OpenGL does not work it may take its process with it.
    """
    wanted = os.environ.get("MUJOCO_GL", "").lower()
    if wanted in _NO_OPENGL:
        return None
    for backend in (wanted,) if wanted in _BACKENDS else ("egl", "osmesa"):
        code = _PROBE.format(backend=backend)
        try:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-c", code],
                env=os.environ | {"MUJOCO_GL": backend},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if "works" in done.stdout:
            return backend
    return None


def render_robot(environment: Any, backend: str) -> NDArray[np.uint8]:
    """A robot (height, width, 3) by MuJoCo's renderer, seen by the camera that goes with it."""
    import mujoco

    renderer = environment.mujoco_renderer
    # The camera that moves with the robot; -1 is the one that stays, for models without it.
    renderer.camera_id = mujoco.mj_name2id(environment.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    before = os.environ.get("MUJOCO_GL")
    os.environ["MUJOCO_GL"] = backend
    try:
        return np.array(renderer.render("rgb_array"), np.uint8)
    finally:
        if before is None:
            del os.environ["MUJOCO_GL"]
        else:
            os.environ["MUJOCO_GL"] = before
