"""The only room that sees exact totals: it debits the ledger, adds noise or draws, and releases."""
