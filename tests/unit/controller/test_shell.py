"""A reader may conclude: what the controller answered is in the store, and a restart finds it again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.config.alter import AlterOp, OpType
from odradek.config.broker import BrokerConfig
from odradek.controller import (
    Controller,
    FeatureUpdate,
    MorePartitions,
    NewTopic,
    TopicRef,
    features,
)
from odradek.coordination.contract import Set, Store
from odradek.coordination.embedded import EmbeddedStore
from odradek.coordination.faults import FaultyStore
from odradek.errors import ApiError, Err
from odradek.metadata import ConfigResource, Delta, Endpoint, MetadataImage, ResourceType
from odradek.runtime.clock import SystemClock
from odradek.types import uuid_to_text

CLOCK = SystemClock()
CONFIG = BrokerConfig.from_strings({"broker.rack": "r1"})[0]
TOPIC = ConfigResource(ResourceType.TOPIC, "t")


def controller_on(store: Store, cluster_id: str | None = None) -> Controller:
    return Controller(
        store=store,
        config=CONFIG,
        clock=CLOCK,
        node_id=1,
        endpoints={"PLAINTEXT": Endpoint("localhost", 9092), "LAN": Endpoint("::1", 9093)},
        cluster_id=cluster_id,
    )


def tell(
    folder: Path,
    story: Callable[[Controller, FaultyStore], Awaitable[None]],
    *,
    clean_shutdown: bool = False,
) -> MetadataImage:
    """Run a story on a started controller; gives the last image."""

    async def run() -> MetadataImage:
        store = FaultyStore(await EmbeddedStore.open(folder, CLOCK))
        controller = controller_on(store)
        try:
            await controller.start(clean_shutdown=clean_shutdown)
            await story(controller, store)
            await controller.stop()
        finally:
            await store.close()
        return controller.image

    return asyncio.run(run())


async def nothing(controller: Controller, store: FaultyStore) -> None:
    pass


async def json_at(store: Store, path: str) -> object:
    return json.loads((await store.get(path)).data)


def test_a_new_tree_has_the_classic_layout(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await controller.create_topics([NewTopic("t", 2, configs={"retention.ms": "5"})])
        image = controller.image
        topic = image.topics["t"]
        assert await json_at(store, "/cluster/id") == {"version": "1", "id": image.cluster_id}
        assert (await store.get("/controller_epoch")).data == b"1"
        claim = await json_at(store, "/controller")
        assert isinstance(claim, dict)
        assert (claim["version"], claim["brokerid"]) == (2, 1)
        broker = await json_at(store, "/brokers/ids/1")
        assert isinstance(broker, dict)
        assert broker["endpoints"] == ["PLAINTEXT://localhost:9092", "LAN://[::1]:9093"]
        assert (broker["host"], broker["port"], broker["rack"]) == ("localhost", 9092, "r1")
        assert await json_at(store, "/brokers/topics/t") == {
            "version": 3,
            "topic_id": uuid_to_text(topic.id),
            "partitions": {"0": [1], "1": [1]},
            "adding_replicas": {},
            "removing_replicas": {},
        }
        assert await json_at(store, "/brokers/topics/t/partitions/1/state") == {
            "controller_epoch": 1,
            "leader": 1,
            "version": 1,
            "leader_epoch": 0,
            "isr": [1],
        }
        assert await json_at(store, "/config/topics/t") == {
            "version": 1,
            "config": {"retention.ms": "5"},
        }
        await controller.delete_topics([TopicRef("t")])
        assert await store.children("/brokers/topics") == []
        assert await store.children("/config/topics") == []

    tell(tmp_path, story)


def test_a_restart_finds_everything_again(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await controller.create_topics([NewTopic("t", 2), NewTopic("u"), NewTopic("gone")])
        await controller.create_partitions([MorePartitions("t", 3)])
        await controller.delete_topics([TopicRef("gone")])
        await controller.incremental_alter_configs(
            [
                (TOPIC, [AlterOp("retention.ms", OpType.SET, "7")]),
                (
                    ConfigResource(ResourceType.BROKER, ""),
                    [AlterOp("log.retention.ms", OpType.SET, "8000")],
                ),
                (
                    ConfigResource(ResourceType.BROKER, "1"),
                    [AlterOp("log.retention.ms", OpType.SET, "9000")],
                ),
                (
                    ConfigResource(ResourceType.GROUP, "a/b %"),
                    [AlterOp("consumer.session.timeout.ms", OpType.SET, "50000")],
                ),
            ]
        )
        down = features.UpgradeType.SAFE_DOWNGRADE
        await controller.update_features([FeatureUpdate(features.METADATA_VERSION, 29, down)])
        await controller.allocate_producer_ids(1)

    before = tell(tmp_path, story)
    after = tell(tmp_path, nothing, clean_shutdown=True)
    assert after.brokers[1].epoch > before.brokers[1].epoch
    assert after.controller_epoch == before.controller_epoch + 1
    assert replace(after, version=0, brokers={}, controller_epoch=0) == replace(
        before, version=0, brokers={}, controller_epoch=0
    )
    assert after.next_producer_id == 1000


def test_leaders_get_new_epochs_after_a_crash_and_keep_them_after_a_clean_stop(
    tmp_path: Path,
) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await controller.create_topics([NewTopic("t", 2)])

    tell(tmp_path, story)
    crashed = tell(tmp_path, nothing)
    assert {(p.leader, p.leader_epoch) for p in crashed.topics["t"].partitions} == {(1, 1)}
    clean = tell(tmp_path, nothing, clean_shutdown=True)
    assert {(p.leader, p.leader_epoch) for p in clean.topics["t"].partitions} == {(1, 1)}
    assert {p.partition_epoch for p in clean.topics["t"].partitions} == {1}


def test_subscribers_hear_of_each_commit_before_the_caller_does(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        heard: list[tuple[int, Delta]] = []
        controller.subscribe(lambda image, delta: heard.append((image.version, delta)))
        version = controller.image.version
        await controller.create_topics([NewTopic("t")])
        assert [v for v, _ in heard] == [version + 1]
        assert [topic.name for topic in heard[0][1].created] == ["t"]
        await controller.create_topics([NewTopic("u")], validate_only=True)
        assert len(heard) == 1
        await controller.incremental_alter_configs(
            [(TOPIC, [AlterOp("retention.ms", OpType.SET, "7")])]
        )
        assert heard[1][1].changed_configs == {TOPIC}

    tell(tmp_path, story)


def test_a_subscriber_that_fails_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(image: MetadataImage, delta: Delta) -> None:
        raise ValueError("a bug")

    async def story(controller: Controller, store: FaultyStore) -> None:
        heard: list[int] = []
        controller.subscribe(fail)
        controller.subscribe(lambda image, delta: heard.append(image.version))
        await controller.create_topics([NewTopic("t")])
        assert len(heard) == 1

    tell(tmp_path, story)
    assert "a metadata subscriber failed" in caplog.text


def test_requests_made_at_once_see_each_other(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        answers = await asyncio.gather(
            controller.create_topics([NewTopic("t")]),
            controller.create_topics([NewTopic("t")]),
            controller.delete_topics([TopicRef("t")]),
            controller.create_topics([NewTopic("t", 5)]),
        )
        errs = [answer[0].verdict.err for answer in answers]
        assert errs == [Err.NONE, Err.TOPIC_ALREADY_EXISTS, Err.NONE, Err.NONE]
        assert len(controller.image.topics["t"].partitions) == 5

    tell(tmp_path, story)


def test_a_thousand_topics_at_once_share_commits(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        start = time.perf_counter()
        await asyncio.gather(*(controller.create_topics([NewTopic(f"t{n}")]) for n in range(1000)))
        assert time.perf_counter() - start < 5.0  # measured: 0.2 s
        assert len(controller.image.topics) == 1000

    tell(tmp_path, story)


def test_ten_thousand_partitions_load_well_under_a_second(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await controller.create_topics([NewTopic(f"t{n}", 1000) for n in range(10)])

    tell(tmp_path, story)
    start = time.perf_counter()
    image = tell(tmp_path, nothing, clean_shutdown=True)
    assert time.perf_counter() - start < 2.0  # measured: 0.2 s
    assert sum(len(topic.partitions) for topic in image.topics.values()) == 10_000


@pytest.mark.parametrize("applied", [True, False])
def test_a_commit_of_unknown_outcome_is_settled_by_reading(tmp_path: Path, applied: bool) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await controller.create_topics([NewTopic("before")])
        store.break_next_write(applied=applied)
        if applied:
            (created,) = await controller.create_topics([NewTopic("t")])
            assert created.verdict.err is Err.NONE
        else:
            with pytest.raises(ApiError) as error:
                await controller.create_topics([NewTopic("t")])
            assert error.value.err is Err.KAFKA_STORAGE_ERROR
        assert ("t" in controller.image.topics) is applied
        assert ("t" in await store.children("/brokers/topics")) is applied

    tell(tmp_path, story)


def test_a_deposed_controller_writes_nothing(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await store.multi([Set("/controller_epoch", b"2")])
        with pytest.raises(ApiError) as error:
            await controller.create_topics([NewTopic("t")])
        assert error.value.err is Err.NOT_CONTROLLER
        assert not controller.image.topics
        assert await store.children("/brokers/topics") == []

    tell(tmp_path, story)


def test_a_lost_session_is_no_longer_controller(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        await store.lose()
        with pytest.raises(ApiError) as error:
            await controller.create_topics([NewTopic("t")])
        assert error.value.err is Err.NOT_CONTROLLER

    tell(tmp_path, story)


def test_a_cancelled_caller_stops_no_other(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        first = asyncio.create_task(controller.create_topics([NewTopic("a")]))
        second = asyncio.create_task(controller.create_topics([NewTopic("b")]))
        await asyncio.sleep(0)
        first.cancel()
        (created,) = await second
        assert created.verdict.err is Err.NONE
        assert {"a", "b"} == set(controller.image.topics)

    tell(tmp_path, story)


def test_only_one_controller_at_a_time(tmp_path: Path) -> None:
    async def story(controller: Controller, store: FaultyStore) -> None:
        with pytest.raises(ApiError) as error:
            await controller_on(store).start()
        assert error.value.err is Err.NOT_CONTROLLER

    tell(tmp_path, story)


def test_the_cluster_id_of_the_log_dirs_is_taken_over(tmp_path: Path) -> None:
    async def run() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        controller = controller_on(store, "abcdefghijklmnopqrstuv")
        await controller.start()
        assert controller.image.cluster_id == "abcdefghijklmnopqrstuv"
        await store.close()

    asyncio.run(run())


def test_a_tree_of_an_older_release_gets_new_features(tmp_path: Path) -> None:
    """They are finalised, and stored, at the first start that knows them."""

    async def forget_new_ones(controller: Controller, store: FaultyStore) -> None:
        old = {"version": 2, "status": 1, "features": {features.METADATA_VERSION: 30}}
        await store.multi([Set("/feature", json.dumps(old).encode())])

    tell(tmp_path, forget_new_ones)
    image = tell(tmp_path, nothing)
    assert image.features == features.default_features()

    async def look(controller: Controller, store: FaultyStore) -> None:
        stored = await json_at(store, "/feature")
        assert isinstance(stored, dict)
        assert stored["features"] == features.default_features()

    tell(tmp_path, look)
