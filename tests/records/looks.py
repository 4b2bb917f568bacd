"""Something that happens in mid-fit."""

from dpforest.privacy.desk import Desk


def at_look(monkeypatch, number, do):
    """Do something when a fit is about to look at the records for the n-th time."""
    total, looks = Desk.total, []

    def watched(self, statistic):
        looks.append(statistic)
        if len(looks) == number:
            do()
        return total(self, statistic)

    monkeypatch.setattr(Desk, "total", watched)
