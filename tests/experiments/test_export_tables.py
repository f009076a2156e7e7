"""Tables of other libraries' exports, from records made by hand."""

from __future__ import annotations

from nacre.experiments.export_tables import write_exports


def test_what_was_read_and_what_was_refused() -> None:
    about = {"library": "other 1.0", "learner": "DQN", "world": "CartPole-v1"}
    read = {**about, "form": ".onnx", "outcome": "read", "difference": 2e-7}
    wrong = {**about, "form": ".onnx", "outcome": "wrong", "difference": 0.5}
    refused = {**about, "form": ".pt", "outcome": "refused", "told": "is a program; export it"}
    lines = write_exports([read, wrong, refused, {**refused, "learner": "SAC"}]).splitlines()
    assert lines[2] == "| other 1.0 | DQN | CartPole-v1 | .onnx | yes | 2.0e-07 |"
    assert lines[3] == "| other 1.0 | DQN | CartPole-v1 | .onnx | no | 5.0e-01 |"
    assert lines[-1] == "| other 1.0 | `.pt` | 2 | export it |"
    assert write_exports([read]).count("|") == 7 * 3
