"""What a fitted model hands over to other programs: ONNX, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dpforest.export import Described, to_json, to_onnx
from dpforest.forests.explaining import ExplainedEstimator
from dpforest.new_files import write_file


class ExportedEstimator(ExplainedEstimator):
    """An estimator that other programs can run; a family describes what predictions need."""

    def to_onnx(self, path: str | Path | None = None, *, overwrite: bool = False) -> Any:
        """The model as ONNX, for any runtime; needs the extra ``onnx``.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it, too.
        overwrite : bool, default=False
            Replace a file that is there; FileExistsError otherwise.

        Returns
        -------
        onnx.ModelProto
        """
        check_is_fitted(self)
        model = to_onnx(self._described())
        if path is not None:
            write_file(path, model.SerializeToString(), overwrite=overwrite)
        return model

    def to_json(self, path: str | Path | None = None, *, overwrite: bool = False) -> dict[str, Any]:
        """The model as a dictionary that JSON can hold; ``docs/export.md`` describes it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it, too.
        overwrite : bool, default=False
            Replace a file that is there; FileExistsError otherwise.
        """
        check_is_fitted(self)
        guarantee = self.ledger_.explain().splitlines()[0]
        entry = to_json(self._described(), type(self).__name__, guarantee)
        if path is not None:
            write_file(path, json.dumps(entry).encode(), overwrite=overwrite)
        return entry

    def _described(self) -> Described:
        raise ValueError(f"{type(self).__name__} cannot be exported: use save, or another family")
