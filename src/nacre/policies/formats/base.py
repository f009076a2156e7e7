"""What a form of policies is: which sources it reads, and what it writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import ArrayLike

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.cloning.fitting import CloneConfig
from nacre.policies.networks import Activation
from nacre.policies.policy import Policy, Signature

Provenance = dict[str, Any]
"""Where a policy comes from, and how well it was cloned, if it was; has a JSON form."""


@dataclass(frozen=True)
class PolicyOptions:
    """What the source of a policy may leave open.

    Attributes:
        signature: The spaces, for functions, ONNX files and zips that do not say them. The log's if
            absent.
        log: The log that belongs to the policy. Policies that can only be asked are recorded at its
            states; `columns`, `clone` and rules are read from it.
        outputs: What an ONNX file's outputs or a function's answers are.
        activation: The activation of a Stable-Baselines3 zip that does not say it.
        normalization: The npz file with the statistics of a zip's normalised observations.
        clone: How clones are fitted.
        states: Further states that a policy which can only be asked is recorded at, such as the
            start of the next episode.
        seed: Seed of the cloning.
        fallback: The spaces of the world that the policy is to act in: they stand in where the
            source does not say its own and there is no log.
    """

    signature: Signature | None = None
    log: Log | None = None
    outputs: str | Mapping[str, str] | None = None
    activation: Activation | None = None
    normalization: str | os.PathLike[str] | None = None
    clone: CloneConfig | None = None
    states: ArrayLike | None = None
    seed: int = 0
    fallback: Signature | None = None

    @property
    def spaces(self) -> Signature | None:
        """The signature that was given, or the log's, or the world's."""
        if self.signature is not None:
            return self.signature
        if self.log is None:
            return self.fallback
        return Signature(self.log.observation_space, self.log.action_space)


class PolicyFormat(Protocol):
    """A form in which policies come: a kind of file, a word, a kind of object.

    A class that derives from it states what differs from the defaults below. One line registers an
    object of it: in `nacre.policies.formats.registry`, or as an entry point of another package in
    the group "nacre.policy_formats".

    Attributes:
        label: What to call it in messages, such as "a rule in .toml".
        suffixes: Endings of its files' names, in lower case with the dot; the first is for writing.
        words: Words that stand for a source, such as "clone".
        writable: Whether `dump` gives the content of a file.
    """

    label: str
    suffixes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    writable: bool = False

    def takes(self, source: object) -> bool:
        """Whether it reads this object, which is neither a path nor a word."""
        return False

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The policy and its provenance.

        Args:
            source: The path of an existing file with one of its suffixes, one of its words, or an
                object that it takes.
            options: What the source may leave open.

        Raises:
            InputError: If there is no such policy; one line for each problem.
        """
        ...

    def dump(self, policy: Policy, provenance: Mapping[str, Any]) -> bytes:
        """The content of the policy's file.

        Raises:
            InputError: If the policy has no such form.
        """
        raise InputError(f"nacre reads {self.label}, but writes none; choose another format")
