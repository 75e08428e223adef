"""The wire, without IO: message declarations, their compiled codecs, headers and framing."""
