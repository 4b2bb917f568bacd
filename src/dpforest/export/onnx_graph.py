"""A graph of ONNX operators, written node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.categories import Category

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # of 2022: what runtimes of today all know


class Graph:
    """Collects inputs, constants, nodes and outputs; ImportError without the extra ``onnx``."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError(
                "ONNX needs the package onnx, which is not installed: pip install 'dpforest[onnx]'"
            ) from error
        self._onnx = onnx
        self._types = {
            "double": onnx.TensorProto.DOUBLE,
            "int64": onnx.TensorProto.INT64,
            "string": onnx.TensorProto.STRING,
        }
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: list[Any] = []
        self._nodes: list[Any] = []

    def input(self, name: str, kind: str) -> str:
        """An input of shape (n, 1)."""
        shape = ["n", 1]
        info = self._onnx.helper.make_tensor_value_info(name, self._types[kind], shape)
        self._inputs.append(info)
        return name

    def output(self, name: str, value: str, kind: str, n_axes: int) -> None:
        """Give a value out under a name."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        shape = ["n", *[None] * (n_axes - 1)]
        info = self._onnx.helper.make_tensor_value_info(name, self._types[kind], shape)
        self._outputs.append(info)

    def constant(self, array: NDArray[Any]) -> str:
        """A constant; whole numbers become int64, others doubles unless they are singles."""
        name = f"constant {len(self._constants)}"
        if array.dtype != np.float32:
            array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node and return the name of what it gives."""
        name = f"value {len(self._nodes)}"
        if isinstance(attributes.get("to"), str):
            attributes["to"] = self._types[attributes["to"]]
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def sum(self, value: str, axis: int, keepdims: int = 1) -> str:
        """Add up along an axis."""
        return self.add("ReduceSum", [value, self.constant(np.array([axis]))], keepdims=keepdims)

    def slice_column(self, value: str, column: int = 0) -> str:
        """A column, shape (n, 1)."""
        return self.add("Gather", [value, self.constant(np.array([column]))], axis=1)

    def squeeze(self, value: str) -> str:
        """Shape (n, 1) as shape (n,)."""
        return self.add("Squeeze", [value, self.constant(np.array([1]))])

    def look_up(self, classes: tuple[Category, ...], code: str) -> tuple[str, str]:
        """The classes of codes, and their type: texts unless all are numbers."""
        array = np.array(classes)
        if array.dtype.kind not in "iufb":
            helper, types = self._onnx.helper, self._types
            name = f"constant {len(self._constants)}"
            texts = [str(name).encode() for name in classes]
            self._constants.append(helper.make_tensor(name, types["string"], [len(texts)], texts))
            return self.add("Gather", [name, code]), "string"
        kind = "double" if array.dtype.kind == "f" else "int64"
        numbers = array.astype(np.float64 if kind == "double" else np.int64)
        return self.add("Gather", [self.constant(numbers), code]), kind

    def model(self) -> Any:
        """The finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "dpforest", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="dpforest"
        )
        self._onnx.checker.check_model(model)
        return model
