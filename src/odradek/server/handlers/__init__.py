"""One module per API; `server.registry.load_handlers` imports them all."""
