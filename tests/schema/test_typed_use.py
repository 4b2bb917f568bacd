"""What a user writes passes mypy's strict mode: lists where tuples are kept, and plain numbers."""

import subprocess
import sys

from benchmarks.pages import ROOT
from dpforest import CategoricalFeature, NumericFeature, Schema, Target

SCRIPT = """
from dpforest import CategoricalFeature, NumericFeature, PrivateForestClassifier, Schema, Target

age = NumericFeature("age", 0, 120, integer=True, cuts=[18, 40, 65])
smoker = CategoricalFeature("smoker", ["no", "yes"])
schema = Schema([age, smoker], Target("ill", classes=[0, 1]))
same = Schema((age, smoker), Target("ill", classes=(0, 1)))
forest = PrivateForestClassifier(epsilon=1.0, schema=schema, n_estimators=5)
cuts: tuple[float, ...] | None = age.cuts
names: tuple[str, ...] = schema.feature_names
NumericFeature("age", 0, 120, cuts="18, 40")  # type: ignore[arg-type]
"""


def test_lists_will_do_where_tuples_are_kept(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    # Strict as pyproject.toml is, so an ignored error must be one; quick, in its cache.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", str(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_lists_are_kept_as_tuples():
    smoker = CategoricalFeature("smoker", ["no", "yes"])
    listed = Schema([NumericFeature("age", 0, 120, cuts=[18, 40]), smoker], Target(classes=[0, 1]))
    smoker = CategoricalFeature("smoker", ("no", "yes"))
    tupled = Schema((NumericFeature("age", 0, 120, cuts=(18, 40)), smoker), Target(classes=(0, 1)))
    assert listed == tupled
    assert hash(listed) == hash(tupled)
    assert listed.features[0].cuts == (18.0, 40.0)
