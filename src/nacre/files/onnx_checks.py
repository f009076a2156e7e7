"""What an ONNX file may hold: known operators, no other files, sizes that follow from the batch.

A model is checked before any runtime sees it. What is refused here could read other files, run
without end, or ask for more memory than there is. Then it is tried in another process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from nacre.errors import InputError

COLUMNS_KEY = "nacre columns"
"""In the metadata of a model that takes the columns of a table."""
MOST_NODES = 20_000
MOST_NUMBERS = 10_000_000
TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
"""What a policy's input may hold."""

ELEMENTWISE = """Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift Cast CastLike Ceil Celu Clip
    Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity
    IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow
    Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan
    Tanh ThresholdedRelu Where Xor"""
LAYERS = """ArgMax ArgMin AveragePool BatchNormalization Conv Dropout Einsum Flatten GRU Gemm
    GlobalAveragePool GlobalMaxPool GroupNormalization Hardmax InstanceNormalization LRN LSTM
    LayerNormalization LogSoftmax LpNormalization MatMul MaxPool MeanVarianceNormalization RNN
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare RMSNormalization Softmax CumSum DequantizeLinear QuantizeLinear
    DynamicQuantizeLinear MatMulInteger QLinearMatMul"""
SHAPES = """Concat Constant ConstantOfShape Expand Gather GatherElements GatherND OneHot Pad Reshape
    ScatterElements ScatterND Shape Size Slice Split Squeeze Tile TopK Transpose Unsqueeze"""
CLASSIC = """ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer LinearClassifier
    LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler
    TreeEnsembleClassifier TreeEnsembleRegressor ZipMap"""

OPERATORS = {
    "": frozenset(f"{ELEMENTWISE} {LAYERS} {SHAPES}".split()),
    "ai.onnx": frozenset(f"{ELEMENTWISE} {LAYERS} {SHAPES}".split()),
    "ai.onnx.ml": frozenset(CLASSIC.split()),
}
"""By domain. Not among them: Loop, If, Scan, sequences, random numbers, texts, other domains."""
SIZED = {
    "ConstantOfShape": 0,
    "Expand": 1,
    "OneHot": 1,
    "Pad": 1,
    "Reshape": 1,
    "Tile": 1,
    "TopK": 1,
}
"""Operators whose output is as large as the values of that input say."""


def check_model(onnx: ModuleType, model: Any) -> None:
    """Raise `InputError` unless a model holds only what a policy needs.

    Args:
        onnx: The package.
        model: A parsed file.
    """
    if any(entry.key == COLUMNS_KEY for entry in model.metadata_props):
        raise InputError(
            "takes the columns of a table, not observations; give the file beside it that ends in "
            ".safetensors, .toml or .onnx alone"
        )
    if len(model.functions) or len(model.training_info):
        raise InputError("defines functions or a training; export the policy for inference alone")
    nodes = model.graph.node
    if len(nodes) > MOST_NODES:
        raise InputError(f"has {len(nodes):,} operators, more than {MOST_NODES:,}; no policy has")
    for node in nodes:
        if node.op_type not in OPERATORS.get(node.domain, ()):
            name = f"{node.domain}.{node.op_type}".lstrip(".")
            raise InputError(
                f"uses the operator {name!r:.60}, which no policy needs; export without"
            )
        if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            raise InputError(f"operator {node.op_type} holds a graph of its own; export without")
    for tensor in _find_tensors(model.graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or len(tensor.external_data):
            raise InputError(
                f"tensor {tensor.name!r:.60} lies in another file; save the model as one file"
            )
    _check_sizes(model.graph)


def try_model(path: str) -> str:
    """In another process: check a model, load it and run it on two rows.

    Returns:
        What is wrong with it, or nothing. Whether it is a policy is asked later.
    """
    import onnx
    import onnxruntime

    with Path(path).open("rb") as file:
        content = file.read()
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:
        return f"is not an ONNX file ({_shorten(error)}); export it again"
    try:
        check_model(onnx, model)
    except InputError as error:
        return error.problems[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return (
            f"cannot be loaded by onnxruntime ({_shorten(error)}); export it with standard "
            "operators and a lower opset"
        )
    return _run_once(session)


def _run_once(session: Any) -> str:
    """Why a model cannot be run on rows of zeros; nothing where it can, or they are not known."""
    given = session.get_inputs()
    if len(given) != 1 or given[0].type not in TYPES:
        return ""
    shape = [size if isinstance(size, int) else 2 for size in given[0].shape]
    if np.prod(shape, dtype=object) > MOST_NUMBERS:
        return f"reads {shape} numbers at once; export it for a batch of any size"
    try:
        session.run(None, {given[0].name: np.zeros(shape, TYPES[given[0].type])})
    except Exception as error:
        # One whose rows may have any width is asked again where that is known.
        open_width = any(not isinstance(size, int) for size in given[0].shape[1:])
        if "alloc" in str(error).lower() or not open_width:
            return f"cannot be run on {shape[0]} rows ({_shorten(error)}); export it again"
    return ""


def _shorten(error: BaseException) -> str:
    text = "".join(c if c.isprintable() else " " for c in str(error)) or type(error).__name__
    return " ".join(text.split())[:160]


def _find_tensors(graph: Any) -> Iterator[Any]:
    """All constants of a graph."""
    yield from graph.initializer
    sparse = list(graph.sparse_initializer)
    for node in graph.node:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
    for one in sparse:
        yield from (one.values, one.indices)


def _check_sizes(graph: Any) -> None:
    """Sizes follow from constants and from the batch, never from what an observation holds."""
    given = {initializer.name for initializer in graph.initializer}
    varying = {value.name for value in graph.input} - given
    for node in graph.node:
        place = SIZED.get(node.op_type)
        if place is not None and place < len(node.input) and node.input[place] in varying:
            raise InputError(
                f"operator {node.op_type} takes a size from the values of its input; export with "
                "fixed sizes"
            )
        # A shape is known once the batch is.
        if node.op_type not in ("Shape", "Size") and varying.intersection(node.input):
            varying.update(node.output)
