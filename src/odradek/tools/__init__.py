"""The commands that talk to a broker over the wire, one module each; `odradek.cli` mounts them."""
