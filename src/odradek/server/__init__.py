"""Listeners, connections, and the handlers of the Kafka protocol."""
