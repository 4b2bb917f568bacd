"""A virtual environment for each peer, made on first use in the cache folder."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def python_with(name: str, requirements: Sequence[str]) -> Path:
    """Return the interpreter of an environment that holds these packages."""
    cache = Path(os.environ.get("DPFOREST_CACHE") or Path.home() / ".cache" / "dpforest")
    environment = cache / "peers" / name
    python = environment / "bin" / "python"
    ready = environment / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    if not (ready.is_file() and ready.read_text() == wanted):
        print(f"making the environment of {name} in {environment}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        ready.write_text(wanted)
    return python
