"""Record batches (magic 2): read through a memoryview, built, compressed, validated."""
