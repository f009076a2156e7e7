"""Write the ONNX models that the tests read, with what their makers say of them.

Run in an environment of its own, with torch, onnxscript, scikit-learn and skl2onnx and without
nacre: `python scripts/make_onnx_fixtures.py`. For every case there is `<name>.onnx` and
`<name>.npz` with 1,000 observations and the reference outputs at them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import skl2onnx  # type: ignore[import-not-found]
import torch
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found]

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "policies" / "fixtures"
SIZE, N_OBSERVATIONS = 4, 1000


class GaussianActor(torch.nn.Module):  # type: ignore[misc]
    """Mean and standard deviation of two action coordinates."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(SIZE, 16), torch.nn.Tanh())
        self.mean = torch.nn.Linear(16, 2)
        self.log_std = torch.nn.Parameter(torch.tensor([-0.5, -1.0]))

    def forward(self, x: Any) -> Any:
        """Both, for a batch."""
        mean = self.mean(self.body(x))
        return mean, self.log_std.exp().expand_as(mean)


def export(name: str, model: Any, outputs: list[str], *, batch: bool = True) -> None:
    rows = draw_rows()
    model.eval()
    with torch.no_grad():
        answers = model(torch.tensor(rows))
    answers = answers if isinstance(answers, tuple) else (answers,)
    example = torch.zeros(2, SIZE) if batch else torch.zeros(SIZE)
    torch.onnx.export(
        model,
        (example,),
        str(FIXTURES / f"{name}.onnx"),
        input_names=["observation"],
        output_names=outputs,
        dynamic_shapes=({0: torch.export.Dim("batch")},) if batch else None,
        external_data=False,
        verbose=False,
    )
    _forget_places(FIXTURES / f"{name}.onnx")
    arrays: dict[str, Any] = {
        key: np.asarray(answer, np.float32) for key, answer in zip(outputs, answers, strict=True)
    }
    np.savez_compressed(FIXTURES / f"{name}.npz", observations=rows, **arrays)


def _forget_places(path: Path) -> None:
    """Torch writes into every node where in which file it was made."""
    model = onnx.load(path)
    for node in model.graph.node:
        del node.metadata_props[:]
    onnx.save(model, path)


def draw_rows() -> np.ndarray:
    return np.random.default_rng(7).normal(0.0, 2.0, (N_OBSERVATIONS, SIZE)).astype(np.float32)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    export("torch_gaussian", GaussianActor(), ["mean", "std"])
    layers = torch.nn.Linear(SIZE, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
    export("torch_logits", torch.nn.Sequential(*layers), ["output_0"])
    sure = torch.nn.Sequential(torch.nn.Linear(SIZE, 2), torch.nn.Tanh())
    export("torch_single", sure, ["action"], batch=False)

    rows = draw_rows()
    chosen = np.digitize(rows[:, 0] + rows[:, 1], [-1.0, 1.0])
    classifier = LogisticRegression().fit(rows, chosen)
    kind = skl2onnx.common.data_types.FloatTensorType([None, SIZE])
    for name, options in (("sklearn", {"zipmap": False}), ("sklearn_zipmap", {})):
        model = skl2onnx.to_onnx(
            classifier, initial_types=[("X", kind)], options={id(classifier): options}
        )
        (FIXTURES / f"{name}.onnx").write_bytes(model.SerializeToString())
    np.savez_compressed(
        FIXTURES / "sklearn.npz",
        observations=rows,
        probabilities=classifier.predict_proba(rows).astype(np.float32),
    )


if __name__ == "__main__":
    main()
