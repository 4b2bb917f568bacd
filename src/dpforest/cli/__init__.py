"""The command line: ``dpforest demo``, ``fit``, ``predict``, ``explain`` and more.

Each group of commands has a file, which registers with the app when it is imported: here, in the
order that ``dpforest --help`` shows.
"""

# isort: off
from dpforest.cli import demonstrating as demonstrating
from dpforest.cli import schemas as schemas
from dpforest.cli import training as training
from dpforest.cli import planning as planning
from dpforest.cli import explaining as explaining
from dpforest.cli import evaluating as evaluating
from dpforest.cli import reporting as reporting
from dpforest.cli import exporting as exporting
from dpforest.cli import signing as signing
from dpforest.cli import auditing as auditing
from dpforest.cli import reading_papers as reading_papers
from dpforest.cli import completing as completing

# isort: on
from dpforest.cli.commands import app

__all__ = ["app"]
