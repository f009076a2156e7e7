"""MLflow: a run with parameters, curves, the decision and its files.

Nothing is ever read from a store but the names and places of its experiments; models and other
artefacts, which may hold pickles, are not looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from nacre.errors import InputError
from nacre.logs.checks.problems import show_path

EXPERIMENT = "nacre"
# The least of the limits of the versions of MLflow from 2.20 on.
LONGEST_KEY = 250
LONGEST_PARAMETER = 6000
LONGEST_TAG = 5000
LARGEST_BATCH = 100
STORES = "a folder, sqlite:///runs.db, or the http(s) address of a server"


class MlflowRun:
    """One run of the experiment `nacre` in a store."""

    def __init__(self, store: str) -> None:
        self.store = check_store(store)
        # A folder was asked for: newer versions want to be told so once more. What we track is
        # nobody else's business, so the library does not report its use. Both are read from the
        # environment, the second one as it is imported.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        if self.store.startswith("file:"):
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        try:
            from mlflow import entities
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise InputError(
                "tracking in MLflow needs mlflow-skinny; pip install 'nacre[track]'"
            ) from None
        self._entities = entities
        try:
            self._client: Any = MlflowClient(tracking_uri=self.store)
            self._run = self._client.create_run(self._find_experiment())
        except InputError:
            raise
        except Exception as error:  # whatever the store's libraries raise
            raise InputError(_explain(self.store, error)) from None
        try:
            _check_place(self.store, str(self._run.info.artifact_uri))
        except InputError:
            self.close("FAILED")
            raise

    @property
    def run_id(self) -> str:
        """By which MLflow knows the run."""
        return str(self._run.info.run_id)

    def log_parameters(self, parameters: Mapping[str, str]) -> None:
        """Keep the settings, as long as MLflow lets them be."""
        param = self._entities.Param
        entries = [
            param(name[:LONGEST_KEY], shorten(text, LONGEST_PARAMETER))
            for name, text in parameters.items()
        ]
        for part in batched_list(entries):
            self._client.log_batch(self.run_id, params=part)

    def log_numbers(self, numbers: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""
        now = int(time.time() * 1000)
        metric = self._entities.Metric
        entries = [metric(name[:LONGEST_KEY], value, now, step) for name, value in numbers.items()]
        self._client.log_batch(self.run_id, metrics=entries)

    def log_decision(self, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
        """Keep the decision: metrics, and tags."""
        self.log_numbers(numbers, 0)
        for name, text in words.items():
            self._client.set_tag(self.run_id, f"nacre.{name}", shorten(text, LONGEST_TAG))

    def log_files(self, files: list[Path]) -> None:
        """Keep files as artefacts."""
        for path in files:
            self._client.log_artifact(self.run_id, str(path))

    def close(self, status: str) -> None:
        """End the run."""
        self._client.set_terminated(self.run_id, status)

    def _find_experiment(self) -> str:
        found = self._client.get_experiment_by_name(EXPERIMENT)
        if found is None:
            return str(self._client.create_experiment(EXPERIMENT))
        if found.lifecycle_stage != "active":
            raise InputError(
                f"{self.store}: its experiment {EXPERIMENT!r} is deleted; restore it in MLflow, or "
                "give another store"
            )
        return str(found.experiment_id)


def check_store(store: str) -> str:
    """The address of a store, complete and without surprises.

    Raises:
        InputError: If it is none that is known, or carries a password.
    """
    scheme = store.split(":", 1)[0].lower() if ":" in store else ""
    if not store or not store.isprintable():
        raise InputError(f"MLflow store {store!r}: give {STORES}")
    if scheme in ("http", "https"):
        return _check_server(store)
    if scheme == "sqlite":
        path = store.split(":", 1)[1]
        if not path.startswith("///") or len(path) == 3 or "?" in path:
            raise InputError(f"MLflow store {store!r}: write sqlite:/// and the path of the file")
        return store
    if scheme == "file":
        parts = urlsplit(store)
        if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
            raise InputError(f"MLflow store {store!r}: write file:/// and the path of a folder")
        return _check_folder(Path(unquote(parts.path)), store)
    if "://" in store or scheme == "databricks":
        raise InputError(f"MLflow store of the kind {scheme!r}: not known here; give {STORES}")
    return _check_folder(Path(store), store)


def _check_server(store: str) -> str:
    try:
        parts = urlsplit(store)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or parts.query or parts.fragment:
        raise InputError(f"MLflow store {store!r}: write https:// and the name of the server")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"MLflow store at {host}: a password in an address ends up in records; set "
            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead"
        )
    return store


def _check_folder(folder: Path, given: str) -> str:
    try:
        place = folder.resolve()
    except (OSError, ValueError, RuntimeError):
        raise InputError(f"MLflow store {given!r}: is no path; give {STORES}") from None
    if place.exists() and not place.is_dir():
        raise InputError(f"MLflow store {show_path(given)}: is a file; give {STORES}")
    return place.as_uri()


def _check_place(store: str, artifacts: str) -> None:
    """Artefacts of a folder's runs have to stay in it, whatever its files say."""
    if not store.startswith("file:"):
        return
    parts = urlsplit(artifacts)
    root = Path(unquote(urlsplit(store).path)).resolve()
    place = Path(unquote(parts.path)).resolve()
    if parts.scheme not in ("", "file") or not place.is_relative_to(root):
        raise InputError(
            f"{show_path(root)}: its experiment {EXPERIMENT!r} keeps its files elsewhere, in "
            f"{show_path(artifacts)}; give another folder"
        )


def _explain(store: str, error: Exception) -> str:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    if store.startswith("sqlite:"):
        return (
            f"MLflow store {store}: no run can be started there ({reason}); databases need the "
            "whole of MLflow, pip install mlflow, or give a folder"
        )
    return f"MLflow store {store}: no run can be started there ({reason}); give {STORES}"


def shorten(text: str, longest: int) -> str:
    """The text, or as much of it as is allowed with a mark that there was more."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def batched_list(entries: list[Any]) -> list[list[Any]]:
    """Entries in parts that one request may hold."""
    return [
        entries[first : first + LARGEST_BATCH] for first in range(0, len(entries), LARGEST_BATCH)
    ]
