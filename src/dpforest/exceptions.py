"""The warnings and errors a user of dpforest can meet."""


class PrivacyLeakWarning(UserWarning):
    """Something was read from the data without being paid for."""


class NoGuaranteeWarning(UserWarning):
    """The model carries no privacy guarantee; its ledger says why."""


class InnerFitsWarning(UserWarning):
    """A fit is one of several of a search or an ensemble, and no budget adds them up."""


class LittleSignalWarning(UserWarning):
    """The records and the budget are unlikely to carry a model that knows more than shares."""


class WeakGuaranteeWarning(UserWarning):
    """Epsilon or delta is so large that the guarantee says next to nothing."""


class BudgetExceededError(RuntimeError):
    """A release would cost more than the budget has left; nothing was read or released."""


class SchemaError(ValueError):
    """A schema is wrong in itself, or the data does not fit it."""


class SourceChangedError(RuntimeError):
    """A source gave other records than when it was first read: there is no total over them."""


class ModelFileError(ValueError):
    """A saved model is damaged, was edited, is no model, or of another version of the format."""


class BudgetFileError(OSError):
    """A budget cannot be used: no budget, of a newer format, damaged, read-only, or a full disk."""
