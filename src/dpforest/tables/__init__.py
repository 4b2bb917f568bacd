"""How any table is read, and sent down a finished forest: what anyone may use."""
