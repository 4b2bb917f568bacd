"""Forests just as some papers print them, for research: none is private, and each says so.

Away from the private path: what is here breaks the walls on purpose (it reads exact totals and
draws with sensitivities that do not hold), each forest writes the reasons into its ledger before
it follows the print, and `dpforest.literature.make(name, variant="as_published")` is the way to it.
``docs/privacy/median.md`` and ``docs/privacy/greedy.md`` have tables on which each flaw loses more
than it says, and `dpforest.audit` finds such tables in whole forests.
"""
