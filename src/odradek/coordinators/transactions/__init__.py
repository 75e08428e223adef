"""Transactions: who writes what under which epoch, and how it ends (pure)."""
