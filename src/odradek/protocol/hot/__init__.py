"""Hand-written codecs of the hot requests; `protocol.messages` is their reference in property tests."""
