"""What was spent and what follows from it: ledgers, losses, neighbours."""
