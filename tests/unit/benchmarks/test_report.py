"""The benchmark's page says what the stored figures say: ratios per round, verdicts, reasons."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import compare, report, toolbox
from benchmarks.experiments import ALL
from benchmarks.figures import Verdict, growth, judge, percentile, ratios
from benchmarks.heat import is_steady
from benchmarks.plot import place
from benchmarks.results import Problem, Result, Results
from benchmarks.shapes import Better, Sizes, Stage

SHAPES = {shape.name: shape for experiment in ALL for shape in experiment.shapes}


def measured(kafka: list[dict[str, float]], odradek: list[dict[str, float]]) -> Result:
    return Result("2026-01-02", 0.3, {"rounds": 3}, kafka, odradek)


def test_names_are_unique_and_goals_lie_beyond_floors() -> None:
    assert len({experiment.name for experiment in ALL}) == len(ALL)
    assert len(SHAPES) == sum(len(experiment.shapes) for experiment in ALL)
    for shape in SHAPES.values():
        assert shape.better.reaches(shape.goal, shape.floor), shape.name


@pytest.mark.parametrize(
    ("name", "value", "verdict"),
    [
        ("raw-produce-16kb", 3.0, Verdict.GOAL),
        ("raw-produce-16kb", 2.0, Verdict.FLOOR),
        ("raw-produce-16kb", 1.9, Verdict.MISSED),
        ("rss-idle", 0.1, Verdict.GOAL),
        ("rss-idle", 0.15, Verdict.FLOOR),
        ("rss-idle", 0.3, Verdict.MISSED),
    ],
)
def test_verdicts_follow_the_good_direction(name: str, value: float, verdict: Verdict) -> None:
    assert judge(SHAPES[name], value) is verdict


def test_ratios_are_taken_within_a_round() -> None:
    """A slow moment of the machine hits both brokers of a round, so it leaves the ratio alone."""
    assert ratios([10, 100], [20, 200]) == [2, 2]


def test_percentiles_and_growth() -> None:
    values = list(range(1, 101))
    assert percentile(values, 0.5) == 50
    assert percentile(values, 0.99) == 99
    assert percentile([7.0], 0.99) == 7
    assert growth([(0, 100), (1, 110), (2, 120)]) == pytest.approx(0.2)


def test_page_before_anything_was_measured(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    report.write(Results(), page)
    assert "Not measured yet" in page.read_text()
    ElementTree.fromstring(page.with_suffix(".svg").read_text())


def test_page_shows_medians_ranges_and_reasons(tmp_path: Path) -> None:
    results = Results(machine={"machine": "2 cores"})
    results.experiments["raw-produce-16kb"] = measured(
        [{"MB/s": 50, "CPU-s/GB": 10}, {"MB/s": 60, "CPU-s/GB": 10}, {"MB/s": 70, "CPU-s/GB": 10}],
        [{"MB/s": 150, "CPU-s/GB": 7}, {"MB/s": 150, "CPU-s/GB": 7}, {"MB/s": 245, "CPU-s/GB": 7}],
    )
    failed = measured([], [])
    failed.problem = Problem(skipped=False, reason="odradek: kcat ended with 1")
    results.experiments["kcat-consume-1kb"] = failed
    store = tmp_path / "results.json"
    results.save(store)
    page = tmp_path / "benchmarks.md"
    report.write(Results.load(store), page)
    text = page.read_text()
    assert "| 60 | 150 | **3** [2.5, 3.5] | ≥ 2 | ≥ 3 | goal met |" in text
    assert "| 10 | 7 | **0.7** [0.7, 0.7] | ≤ 0.6 | ≤ 0.35 | **missed** |" in text
    assert "failed: odradek: kcat ended with 1" in text
    assert "goal met" in page.with_suffix(".svg").read_text()


def test_the_plot_is_logarithmic_and_never_leaves_its_frame() -> None:
    assert place(1) - place(0.1) == pytest.approx(place(10) - place(1))
    assert place(1000) == place(10)
    assert place(0) == place(0.01)


def test_selection_is_by_the_beginning_of_names() -> None:
    assert [experiment.name for experiment in compare.selected("rss-idle")] == ["start"]
    assert {experiment.name for experiment in compare.selected("raw-fetch,soak")} == {
        "raw-fetch-1mb",
        "raw-fetch-8mb",
        "soak",
    }
    assert compare.selected(None) == list(ALL)
    assert compare.selected("nothing-like-it") == []


def test_without_the_peer_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolbox, "KAFKA_PEER", tmp_path / "kafka-peer")
    assert compare.main([]) == 2
    assert "nothing to compare with" in capsys.readouterr().err


def test_heating_ends_when_turns_get_no_cheaper() -> None:
    assert not is_steady([6.0, 3.9, 3.6, 2.0])
    assert not is_steady([1.0, 1.0, 1.0])
    assert is_steady([1.2, 1.1, 1.2, 1.1])


def test_a_warm_up_stores_the_same_data_for_all_rounds() -> None:
    full = Sizes.full()
    warm = full.warm_up()
    assert (warm.consume_bytes, warm.fetch_bytes, warm.cold_gb) == (
        full.consume_bytes,
        full.fetch_bytes,
        full.cold_gb,
    )
    assert warm.raw_bytes < full.raw_bytes


def test_what_runs_alone_is_judged_by_its_own_figure() -> None:
    """D0-03, D1-06: flat curves are bounds of the figure, there is no peer in them."""
    alone = [experiment for experiment in ALL if experiment.stage is Stage.ALONE]
    assert {experiment.name for experiment in alone} == {
        *("grow", "read-the-end", "soak", "grow-classic", "grow-consumer", "load-groups"),
    }
    results = Results()
    results.experiments["read-the-end"] = measured(
        [], [{"large/small": 1.05, "small ms": 6, "large ms": 6.3, "GB": 10}]
    )
    (row,) = (row for row in report.rows(results) if row.shape.name == "read-the-end")
    assert row.shape.better is Better.LOWER
    assert row.verdict is Verdict.FLOOR
