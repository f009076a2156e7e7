"""Pictures of simulated worlds: robots by MuJoCo's renderer or our own pencil, traffic as a map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.simulators.registry import require
from nacre.simulators.rendering.opengl import find_opengl, render_robot

Picture = NDArray[np.uint8]
"""(height, width, 3), from black to white."""

SIZE = 480
FINER = 3
"""Our own drawings are made this many times larger and then reduced, for smooth edges."""

PAPER, INK = (250, 250, 247), (70, 70, 70)
FLOOR, BRANCH = (226, 228, 218), (205, 133, 63)
MEADOW, ROAD, MARKING = (222, 230, 214), (96, 98, 104), (214, 214, 210)
LIGHTS = {"r": (226, 58, 52), "y": (250, 190, 30), "g": (40, 176, 84)}
STANDING, DRIVING = np.array([255, 255, 255]), np.array([90, 170, 255])
INCOMING_METRES, OUTGOING_METRES = 80.0, 30.0

# Numbers that MuJoCo's headers give to kinds of joints and shapes.
_FREE_JOINT = 0
_CAPSULE, _CYLINDER, _BOX = 3, 5, 6
_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def draw_robot(environment: Any) -> Picture:
    """The present moment of a Gymnasium world.

    MuJoCo's own renderer draws its robots where OpenGL works, else a drawing from the side does.
    Other worlds draw themselves; they must have been made with `render_mode="rgb_array"`.
    """
    if not hasattr(environment, "mujoco_renderer"):
        return _draw_itself(environment)
    backend = find_opengl()
    return sketch_robot(environment) if backend is None else render_robot(environment, backend)


def _draw_itself(environment: Any) -> Picture:
    import gymnasium

    name = environment.spec.id
    try:
        picture = environment.render()
    except (gymnasium.error.Error, ImportError) as error:
        raise InputError(f"{name}: cannot be drawn ({error})") from None
    if not isinstance(picture, np.ndarray) or picture.ndim != 3:
        raise InputError(f"{name}: does not draw pictures; there is nothing to show")
    return np.asarray(picture, np.uint8)


def sketch_robot(environment: Any) -> Picture:
    """A robot of MuJoCo drawn from the side, over a floor with metres.

    Robots that move in space and not in a plane are seen from somewhat above.
    """
    model, data = environment.model, environment.data
    free = bool(np.any(model.jnt_type == _FREE_JOINT))
    view = _SideView(model, data, elevation=math.radians(20.0) if free else 0.0)
    canvas = _Canvas(PAPER)
    _draw_floor(canvas, view)
    shapes = [i for i in range(model.ngeom) if model.geom_bodyid[i] > 0]
    # What is nearer covers what is farther.
    for i in sorted(shapes, key=lambda i: -data.geom_xpos[i] @ view.depth):
        _draw_shape(canvas, view, model, data, i)
    return canvas.finish()


class _SideView:
    """Orthographic view along y, from above by an angle; follows the robot's trunk."""

    def __init__(self, model: Any, data: Any, *, elevation: float) -> None:
        sine, cosine = math.sin(elevation), math.cos(elevation)
        self.right = np.array([1.0, 0.0, 0.0])
        self.up = np.array([0.0, sine, cosine])
        self.depth = np.array([0.0, cosine, -sine])
        self.metres = 2.2 * _reach(model)
        self.centre = float(data.xpos[1][0])
        self.pixels = SIZE * FINER / self.metres

    def place(self, point: NDArray[np.float64]) -> tuple[float, float]:
        """Where a point (3,) lies on the canvas; the ground under the robot is low on it."""
        x = (point @ self.right - self.centre) * self.pixels + SIZE * FINER / 2
        y = SIZE * FINER * 0.8 - point @ self.up * self.pixels
        return float(x), float(y)


def _reach(model: Any) -> float:
    """How far the robot extends in its own position, the same in every picture."""
    import mujoco

    rest = mujoco.MjData(model)
    mujoco.mj_kinematics(model, rest)
    moving = model.geom_bodyid > 0
    centres, radii = rest.geom_xpos[moving], model.geom_rbound[moving, None]
    spans = (centres + radii).max(0) - (centres - radii).min(0)
    return max(float(spans.max()), 1e-6) / 1.5


def _draw_floor(canvas: _Canvas, view: _SideView) -> None:
    """The ground, and marks on its near edge; both edges are one line seen from the side."""
    half, side = view.metres / 2, SIZE * FINER
    _, far = view.place(np.array([0.0, half, 0.0]))
    canvas.pen.rectangle((0, far, side, side), fill=FLOOR)
    canvas.pen.line((0, far, side, far), fill=INK, width=2 * FINER)
    step = min(_TICKS, key=lambda step: abs(view.metres / step - 4))
    first = math.ceil((view.centre - half) / step)
    for tick in range(first, math.floor((view.centre + half) / step) + 1):
        x, line = view.place(np.array([tick * step, -0.6 * half, 0.0]))
        canvas.pen.line((x, line, x, line + 8 * FINER), fill=INK, width=FINER)
        canvas.write(x, line + 18 * FINER, f"{tick * step:g} m")


def _draw_shape(canvas: _Canvas, view: _SideView, model: Any, data: Any, i: int) -> None:
    centre, turn = data.geom_xpos[i], data.geom_xmat[i].reshape(3, 3)
    size, kind = model.geom_size[i], int(model.geom_type[i])
    if kind in (_CAPSULE, _CYLINDER):
        ends = [centre + sign * size[1] * turn[:, 2] for sign in (-1, 1)]
        radius = size[0]
    elif kind == _BOX:
        ends = [centre + sign * size[0] * turn[:, 0] for sign in (-1, 1)]
        radius = float(size[1:].max())
    else:
        ends, radius = [centre], float(model.geom_rbound[i])
    places = [view.place(end) for end in ends]
    thick = radius * view.pixels
    canvas.draw_bar(places, thick + 1.5 * FINER, INK)
    canvas.draw_bar(places, thick, _colour(model, i))


def _colour(model: Any, i: int) -> tuple[int, ...]:
    red, green, blue = (int(255 * share) for share in model.geom_rgba[i][:3])
    return BRANCH if red == green == blue else (red, green, blue)


def draw_traffic(environment: Any) -> Picture:
    """A map of the light's surroundings: lanes, vehicles, and the colour that each lane sees."""
    simulation = environment.sumo
    light = environment.ts_ids[0]
    lanes = list(dict.fromkeys(simulation.trafficlight.getControlledLanes(light)))
    view = _MapView([np.array(simulation.lane.getShape(lane)) for lane in lanes])
    canvas = _Canvas(MEADOW)
    _draw_roads(canvas, view, simulation)
    _draw_vehicles(canvas, view, simulation)
    states = simulation.trafficlight.getRedYellowGreenState(light)
    for lane, state in zip(simulation.trafficlight.getControlledLanes(light), states, strict=True):
        _draw_light(canvas, view, simulation, lane, LIGHTS.get(state.lower(), INK))
    seconds = int(simulation.simulation.getTime())
    canvas.write(SIZE * FINER * 0.1, SIZE * FINER * 0.06, f"{seconds} s")
    return canvas.finish()


class _MapView:
    """Seen from above: the last metres of the lanes that lead to the light, and what is around."""

    def __init__(self, shapes: list[NDArray[np.float64]]) -> None:
        stops = np.array([shape[-1] for shape in shapes])
        heads = np.array([_backwards(shape, INCOMING_METRES) for shape in shapes])
        low = np.minimum(stops.min(0) - OUTGOING_METRES, heads.min(0))
        high = np.maximum(stops.max(0) + OUTGOING_METRES, heads.max(0))
        self.metres = float((high - low).max())
        self.corner = (low + high - self.metres) / 2
        self.pixels = SIZE * FINER / self.metres

    def place(self, point: Any) -> tuple[float, float]:
        """Where a point (2,) lies on the canvas; north is up."""
        x, y = (np.asarray(point) - self.corner) * self.pixels
        return float(x), float(SIZE * FINER - y)


def _backwards(shape: NDArray[np.float64], metres: float) -> NDArray[np.float64]:
    """The point so many metres before the end of a line, or its beginning."""
    left = metres
    for start, end in zip(shape[-2::-1], shape[:0:-1], strict=True):
        length = float(np.linalg.norm(end - start))
        if length >= left:
            return np.asarray(end + (start - end) * (left / length))
        left -= length
    return np.asarray(shape[0])


def _draw_roads(canvas: _Canvas, view: _MapView, simulation: Any) -> None:
    lanes = simulation.lane.getIDList()
    for junction in simulation.junction.getIDList():
        shape = [view.place(point) for point in simulation.junction.getShape(junction)]
        if len(shape) > 2:
            canvas.pen.polygon(shape, fill=ROAD)
    for lane in lanes:
        places = [view.place(point) for point in simulation.lane.getShape(lane)]
        width = (simulation.lane.getWidth(lane) + 0.3) * view.pixels
        canvas.pen.line(_flat(places), fill=ROAD, width=round(width), joint="curve")
    for lane in lanes:
        if lane.startswith(":") or lane.endswith("_0"):
            continue
        # The lane's right edge: it has a neighbour there.
        points = np.array([view.place(point) for point in simulation.lane.getShape(lane)])
        along = points[-1] - points[0]
        aside = np.array([-along[1], along[0]]) / max(float(np.linalg.norm(along)), 1e-9)
        points += aside * simulation.lane.getWidth(lane) * view.pixels / 2
        for start, end in itertools.pairwise(points):
            canvas.draw_dashes(start, end, 3.0 * view.pixels, MARKING)


def _draw_vehicles(canvas: _Canvas, view: _MapView, simulation: Any) -> None:
    for vehicle in simulation.vehicle.getIDList():
        front = np.array(simulation.vehicle.getPosition(vehicle))
        angle = math.radians(simulation.vehicle.getAngle(vehicle))
        ahead, aside = (
            np.array([math.sin(angle), math.cos(angle)]),
            np.array([math.cos(angle), -math.sin(angle)]),
        )
        back = front - ahead * simulation.vehicle.getLength(vehicle)
        half = aside * simulation.vehicle.getWidth(vehicle) / 2
        corners = [front - half, front + half, back + half, back - half]
        share = simulation.vehicle.getSpeed(vehicle) / simulation.vehicle.getAllowedSpeed(vehicle)
        colour = STANDING + (DRIVING - STANDING) * min(max(share, 0.0), 1.0)
        canvas.pen.polygon(
            [view.place(corner) for corner in corners], fill=tuple(int(part) for part in colour)
        )


def _draw_light(
    canvas: _Canvas, view: _MapView, simulation: Any, lane: str, colour: tuple[int, ...]
) -> None:
    """A bar across the end of a lane, where vehicles stop."""
    before, stop = np.array(simulation.lane.getShape(lane))[-2:]
    ahead = (stop - before) / max(float(np.linalg.norm(stop - before)), 1e-9)
    half = np.array([ahead[1], -ahead[0]]) * simulation.lane.getWidth(lane) * 0.45
    place = stop + ahead * 1.2
    ends = [view.place(place - half), view.place(place + half)]
    canvas.pen.line(_flat(ends), fill=colour, width=round(max(2.4 * view.pixels, 4 * FINER)))


class _Canvas:
    """A square sheet, finer than the picture that it becomes."""

    def __init__(self, colour: tuple[int, ...]) -> None:
        image, draw, font = require(
            ["PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"], "mujoco", "drawing a world"
        )
        self._sheet = image.new("RGB", (SIZE * FINER, SIZE * FINER), colour)
        self._reduced = image.Resampling.BOX
        self._font = font.load_default(13 * FINER)
        self.pen: Any = draw.Draw(self._sheet)

    def draw_bar(
        self, places: list[tuple[float, float]], radius: float, colour: tuple[int, ...]
    ) -> None:
        """A line with round ends, or a disc."""
        if len(places) > 1:
            self.pen.line(_flat(places), fill=colour, width=max(round(2 * radius), 1))
        for x, y in places:
            self.pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)

    def draw_dashes(
        self,
        start: NDArray[np.float64],
        end: NDArray[np.float64],
        length: float,
        colour: tuple[int, ...],
    ) -> None:
        """A broken line."""
        way = end - start
        n = max(int(np.linalg.norm(way) // (2 * length)), 1)
        for i in range(n):
            pieces = [start + way * (i / n), start + way * ((i + 0.5) / n)]
            self.pen.line(_flat(pieces), fill=colour, width=FINER)

    def write(self, x: float, y: float, text: str) -> None:
        """A few words around a place."""
        self.pen.text((x, y), text, fill=INK, font=self._font, anchor="mm")

    def finish(self) -> Picture:
        """The picture."""
        return np.asarray(self._sheet.resize((SIZE, SIZE), self._reduced), np.uint8)


def _flat(places: Iterable[Any]) -> list[float]:
    return [float(number) for place in places for number in place]
