"""Models for other programs: ONNX, and a documented JSON. What is written was released."""

from dpforest.export.described import Described
from dpforest.export.json import to_json
from dpforest.export.onnx import to_onnx

__all__ = ["Described", "to_json", "to_onnx"]
