"""The one place where the parts of a broker are built, started and stopped."""
