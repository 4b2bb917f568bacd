"""The command line: ``dpforest demo``, ``fit``, ``predict``, ``explain`` and more."""

from dpforest.cli import evaluating as evaluating  # registers its command
from dpforest.cli import exporting as exporting
from dpforest.cli import planning as planning
from dpforest.cli.commands import app

__all__ = ["app"]
