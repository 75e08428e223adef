"""Configuration: one line per key; parsing, checks, precedence and descriptions derived from it."""
