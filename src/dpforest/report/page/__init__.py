"""One self-contained page about a model, for whoever must say yes or no to its release."""

from dpforest.report.page.assemble import page
from dpforest.report.page.facts import FileFacts, ReportFacts

__all__ = ["FileFacts", "ReportFacts", "page"]
