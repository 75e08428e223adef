"""Tools that open a broker's files themselves; everything else goes over the wire."""
