"""Groups and transactions: pure shards over internal topics, and the runtime that carries them."""
