"""Ray: workers of a cluster that runs already, or of this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from nacre.errors import InputError
from nacre.parallel.engine import Engine
from nacre.parallel.payload import Answer, count_processors
from nacre.parallel.remote import RemoteWorkers

LONGEST_START = 300.0
"""Seconds that the first worker of this machine may take to start."""


@contextlib.contextmanager
def open_ray(engine: Engine) -> Iterator[RemoteWorkers]:
    """The workers of a Ray cluster."""
    # Nothing is reported about the use of Ray unless somebody asks for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise InputError(
            "engine ray: Ray is not installed; install it with pip install 'nacre[ray]'"
        ) from None
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if engine.address is None:
        count = engine.workers or count_processors()
        options |= {"num_cpus": count, "include_dashboard": False, "address": "local"}
    else:
        options["address"] = engine.address
    try:
        with warnings.catch_warnings():
            # JAX warns of forks: Ray's are to run other programs, which need no thread of JAX's.
            warnings.simplefilter("ignore", RuntimeWarning)
            context = ray.init(**options)
        if engine.address is None:
            # A node may be there whose workers never start: tasks would wait for ever.
            ray.get(ray.remote(count_processors).remote(), timeout=LONGEST_START)
    except Exception as error:
        ray.shutdown()
        # Ray raises plain exceptions too: for a node that does not start in time, say.
        text = (str(error).splitlines() or [type(error).__name__])[0][:200]
        remedy = "check the address, or start one with ray start"
        if engine.address is None:
            remedy = "try again when the machine has less to do, or take the engine local"
        raise InputError(
            f"engine ray: no cluster answers at {engine.address or 'this machine'} ({text}); "
            f"{remedy}"
        ) from None
    try:
        yield RemoteWorkers(RayTransport(ray, context))
    finally:
        ray.shutdown()


class RayTransport:
    """Futures of Ray as those of `concurrent.futures`."""

    def __init__(self, ray: Any, context: Any) -> None:
        self._ray, self._context = ray, context
        self._functions: dict[Any, Any] = {}
        errors = ray.exceptions
        self.lost = (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.OutOfMemoryError,
        )

    @property
    def dashboard(self) -> str:
        """Ray's page, where it is installed and running."""
        url = self._context.dashboard_url
        return f"http://{url}" if url else ""

    def put(self, content: bytes) -> Any:
        """In the memory that processes of a machine share."""
        return self._ray.put(content)

    def send(self, function: Callable[..., Answer], *args: Any) -> Future[Answer]:
        """Call a function in a worker."""
        if function not in self._functions:
            # Tasks whose workers are lost are begun again by us, the same for all engines.
            self._functions[function] = self._ray.remote(max_retries=0, num_cpus=1)(function)
        future: Future[Answer] = self._functions[function].remote(*args).future()
        return future
