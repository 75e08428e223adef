"""Odradek beside Apache Kafka: `python -m benchmarks.compare` measures both in one run.

Reading order: `shapes.py` (what a row is), `experiments/` (how each is measured), `compare.py` (rounds and
order), `report.py` (the page).
"""
