"""What all printed forests do first: warn, and write the reasons into the ledger."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from dpforest.exceptions import NoGuaranteeWarning
from dpforest.privacy.desk import Desk


def follow_the_print(desk: Desk, reasons: Iterable[str]) -> None:
    """Void the ledger, with the reasons, and warn whoever fits."""
    for reason in reasons:
        desk.ledger.void(reason)
    warnings.warn(
        "this forest follows the printed algorithm, which is not differentially private: "
        "ledger_.reasons says why. literature.make(name) gives the repaired forest",
        NoGuaranteeWarning,
        stacklevel=5,
    )
