"""Message declarations: one module per API, named as the API; all versions in one class."""
