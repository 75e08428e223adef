"""The `odradek` command: starts nodes, and mounts the tools that talk to them."""
