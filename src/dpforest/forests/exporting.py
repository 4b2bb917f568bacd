"""What a fitted model hands over to other programs: ONNX, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dpforest.export import Described, to_json, to_onnx
from dpforest.forests.explaining import ExplainedEstimator


class ExportedEstimator(ExplainedEstimator):
    """An estimator that other programs can run; a family describes what predictions need."""

    def to_onnx(self, path: str | Path | None = None) -> Any:
        """The model as ONNX, for any runtime; needs the extra ``onnx``.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it, too.

        Returns
        -------
        onnx.ModelProto
        """
        check_is_fitted(self)
        model = to_onnx(self._described())
        if path is not None:
            Path(path).write_bytes(model.SerializeToString())
        return model

    def to_json(self, path: str | Path | None = None) -> dict[str, Any]:
        """The model as a dictionary that JSON can hold; ``docs/export.md`` describes it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it, too.
        """
        check_is_fitted(self)
        guarantee = self.ledger_.explain().splitlines()[0]
        entry = to_json(self._described(), type(self).__name__, guarantee)
        if path is not None:
            Path(path).write_text(json.dumps(entry), encoding="utf-8")
        return entry

    def _described(self) -> Described:
        raise ValueError(f"{type(self).__name__} cannot be exported: use save, or another family")
