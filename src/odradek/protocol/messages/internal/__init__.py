"""Records that brokers keep in internal topics and files.

A record's key starts with an int16, its type (``API_KEY``); its value with an int16, its version.
The user of the codec reads and writes these; a value of None is a tombstone.
"""
