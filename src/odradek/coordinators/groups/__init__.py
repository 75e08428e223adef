"""Consumer groups: membership by both protocols, committed offsets (pure)."""
