"""Plots of importances and of one-feature effects; matplotlib is the extra ``plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpforest.report.contributions import Contributions
from dpforest.report.effects import ENDS, FeatureEffect, feature_effect, pair_effect
from dpforest.report.importances import CHOSEN_ONCE
from dpforest.schema.categories import Category

if TYPE_CHECKING:
    from dpforest.forests.boosted_base import BoostedForest
    from dpforest.forests.explaining import ExplainedEstimator

MOST_TICKS = 8


def plot_importance(model: ExplainedEstimator, ax: Any = None) -> Any:
    """Draw the importance of every feature as a bar, the largest on top.

    Parameters
    ----------
    model : estimator
        Fitted.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model, "ledger_")
    found = model.importances()
    ax = axes_or_new(ax, height=1.0 + 0.3 * len(found.value))
    order = np.argsort(found.value, kind="stable")
    names = [found.names[j] for j in order]
    reach = np.maximum([found.value - found.low, found.high - found.value], 0.0)[:, order]
    known = None if found.chosen_once else reach
    ax.barh(range(len(order)), found.value[order], xerr=known, ecolor="grey")
    ax.set_yticks(range(len(order)), names)
    doubt = CHOSEN_ONCE if found.chosen_once else "share of what moves the score, less the noise"
    ax.set_xlabel(f"importance ({doubt})")
    return ax


def plot_effect(model: BoostedForest, feature: str, ax: Any = None) -> Any:
    """Draw what the model answers as one feature goes through its bins.

    Every bin is drawn equally wide, so that long tails stay readable; the ticks say where bins
    begin and end. See `feature_effect` for what is averaged.

    Parameters
    ----------
    model : PrivateForestClassifier or PrivateForestRegressor
        Fitted.
    feature : str
        The name of a feature in the schema.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    effect = feature_effect(model, feature)
    ax = axes_or_new(ax, height=3.5)
    lines, ylabel = _lines(model, effect)
    for label, (answers, low, high) in lines.items():
        places = np.arange(len(answers))
        if effect.edges is None:
            (drawn,) = ax.plot(places, answers, "o", label=label)
            ax.vlines(places, low, high, color=drawn.get_color(), alpha=0.4)
        else:
            drawn = ax.stairs(
                answers, np.arange(len(answers) + 1), baseline=None, label=label, lw=2
            )
            band = (
                np.append(places, len(answers)),
                np.append(low, low[-1]),
                np.append(high, high[-1]),
            )
            ax.fill_between(*band, step="post", alpha=0.2, color=drawn.get_edgecolor())
    if len(lines) > 1:
        ax.legend()
    _set_ticks(ax, effect)
    ax.set_xlabel(feature)
    ax.set_ylabel(ylabel)
    return ax


def plot_contributions(
    parts: Contributions, record: int, output: Category | None = None, ax: Any = None
) -> Any:
    """Draw what each feature contributes to the score of one record, the largest on top.

    Parameters
    ----------
    parts : Contributions
    record : int
        Its place.
    output : optional
        One of ``parts.outputs``; by default what `Contributions.sentence` explains.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    told = parts.explained(record) if output is None else output
    values, _ = parts.of_output(record, told)
    ax = axes_or_new(ax, height=1.0 + 0.3 * len(values))
    order = np.argsort(np.abs(values), kind="stable")
    names = [f"{parts.names[j]} = {parts.data[record, j]}" for j in order]
    ax.barh(range(len(order)), values[order])
    ax.set_yticks(range(len(order)), names)
    ax.axvline(0.0, color="grey", lw=1)
    ax.set_xlabel(f"contribution to the score: {told}")
    return ax


def plot_pair(model: BoostedForest, first: str, second: str, ax: Any = None) -> Any:
    """Draw what two features do to the score together, beyond what each does alone.

    Parameters
    ----------
    model : PrivateForestClassifier or PrivateForestRegressor
        Fitted; of the first class where there are more than two.
    first, second : str
        The names of two features.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    table = pair_effect(model, first, second).interaction[0].T
    ax = axes_or_new(ax, height=4.0)
    reach = max(float(np.abs(table).max()), 1e-12)
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-reach, vmax=reach)
    ax.figure.colorbar(image, ax=ax, label="interaction in the score")
    ax.set_xlabel(f"{first} (bin)")
    ax.set_ylabel(f"{second} (bin)")
    return ax


def _lines(model: BoostedForest, effect: FeatureEffect) -> tuple[dict[str, Any], str]:
    """What to draw, by name, and what it is: the second of two classes says it all."""
    target = model.schema_.target
    assert target is not None
    all_three = np.stack([effect.answers, effect.low, effect.high])
    if target.classes is None and all_three.ndim == 3:
        return dict(zip(ENDS, all_three.transpose(2, 0, 1), strict=True)), target.name
    if target.classes is None:
        return {target.name: all_three}, f"{effect.told} {target.name}"
    names = [str(name) for name in target.classes]
    lines = dict(zip(names, all_three.transpose(2, 0, 1), strict=True))
    if len(names) > 2:
        return lines, f"probability of {target.name}"
    return {names[1]: lines[names[1]]}, f"probability of {target.name} {names[1]}"


def _set_ticks(ax: Any, effect: FeatureEffect) -> None:
    if effect.edges is None:
        labels = [str(category) for category in effect.categories or ()]
        places = np.arange(len(labels))
    else:
        last = len(effect.edges) - 1
        places = np.unique(np.linspace(0, last, min(last + 1, MOST_TICKS)).round().astype(int))
        labels = [f"{edge:.3g}" for edge in effect.edges[places]]
    ax.set_xticks(places, labels, rotation=45, ha="right", rotation_mode="anchor")


def axes_or_new(ax: Any, height: float) -> Any:
    """The axes that were given, or new ones; ImportError without matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'dpforest[plot]'"
        ) from error
    return pyplot.subplots(figsize=(6.0, height), layout="constrained")[1]
