// kafkajs against a broker: producer and admin (its consumer needs a group). Reports in TAP.
// Usage: node main.js host:port [groups]
'use strict'
const assert = require('node:assert')
const { Kafka, logLevel, CompressionTypes, ConfigResourceTypes } = require('kafkajs')

const [servers, mode] = process.argv.slice(2)
const run = `kafkajs-${Date.now()}-${process.pid}`
const kafka = new Kafka({ brokers: [servers], logLevel: logLevel.NOTHING, retry: { retries: 8, initialRetryTime: 20, maxRetryTime: 200 } })
let count = 0
let failed = false

async function check (name, body) {
  count++
  try {
    await body()
    console.log(`ok ${count} - ${name}`)
  } catch (error) {
    failed = true
    console.log(`not ok ${count} - ${name} # ${String(error.message).replaceAll('\n', ' ')}`)
  }
}

async function main () {
  const admin = kafka.admin()
  await admin.connect()
  await check('create-topic', async () => {
    const topic = { topic: `${run}-a`, numPartitions: 2, configEntries: [{ name: 'retention.ms', value: '3600000' }] }
    assert.equal(await admin.createTopics({ topics: [topic], waitForLeaders: true }), true)
    assert.equal(await admin.createTopics({ topics: [topic] }), false)
    assert.ok((await admin.listTopics()).includes(`${run}-a`))
  })
  await check('metadata', async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [`${run}-a`] })
    assert.equal(topics[0].partitions.length, 2)
    const cluster = await admin.describeCluster()
    assert.equal(cluster.brokers.length, 1)
    assert.equal(cluster.controller, cluster.brokers[0].nodeId)
  })
  await check('create-partitions', async () => {
    await admin.createPartitions({ topicPartitions: [{ topic: `${run}-a`, count: 3 }] })
  })
  await check('configs', async () => {
    const resource = { type: ConfigResourceTypes.TOPIC, name: `${run}-a` }
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries: [{ name: 'segment.ms', value: '60000' }] }] })
    const { resources } = await admin.describeConfigs({ includeSynonyms: true, resources: [{ ...resource, configNames: ['segment.ms'] }] })
    assert.equal(resources[0].configEntries[0].configName, 'segment.ms')
  })
  for (const [name, settings] of Object.entries({ plain: {}, idempotent: { idempotent: true, maxInFlightRequests: 1 } })) {
    await check(`produce-${name}`, async () => {
      const producer = kafka.producer(settings)
      await producer.connect()
      const messages = [
        { key: 'k', value: 'v', headers: { h: 'x' }, partition: 0 },
        { key: 'k', value: null, partition: 0 }
      ]
      const base = name === 'plain' ? 0 : 3
      const [sent] = await producer.send({ topic: `${run}-a`, messages })
      assert.equal(sent.errorCode, 0)
      assert.equal(sent.baseOffset, String(base))
      const [zipped] = await producer.send({ topic: `${run}-a`, compression: CompressionTypes.GZIP, messages: [{ value: 'z'.repeat(200), partition: 0 }] })
      assert.equal(zipped.baseOffset, String(base + 2))
      await producer.disconnect()
    })
  }
  await check('offsets', async () => {
    const offsets = await admin.fetchTopicOffsets(`${run}-a`)
    const first = offsets.find(({ partition }) => partition === 0)
    assert.equal(first.low, '0')
    assert.equal(first.high, '6')
    const later = await admin.fetchTopicOffsetsByTimestamp(`${run}-a`, Date.now() + 60000)
    assert.equal(later.find(({ partition }) => partition === 0).offset, '6')
  })
  await check('delete-records', async () => {
    await admin.deleteTopicRecords({ topic: `${run}-a`, partitions: [{ partition: 0, offset: '2' }] })
    const offsets = await admin.fetchTopicOffsets(`${run}-a`)
    assert.equal(offsets.find(({ partition }) => partition === 0).low, '2')
  })
  if (mode === 'groups') {
    await check('group', async () => {
      const consumer = kafka.consumer({ groupId: run })
      await consumer.connect()
      await consumer.subscribe({ topic: `${run}-a`, fromBeginning: true })
      await new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error('nothing came')), 30000).unref()
        consumer.run({ eachMessage: async ({ message }) => resolve(message) }).catch(reject)
      })
      await consumer.disconnect()
      await admin.describeGroups([run])
      await admin.fetchOffsets({ groupId: run, topics: [`${run}-a`] })
    })
  }
  await check('delete-topic', async () => {
    await admin.deleteTopics({ topics: [`${run}-a`] })
    await assert.rejects(admin.deleteTopics({ topics: [`${run}-none`] }), /does not host/)
  })
  await admin.disconnect()
  console.log(`1..${count}`)
  process.exit(failed ? 1 : 0)
}

main().catch(error => {
  console.log(`not ok ${count + 1} - main # ${error.message}`)
  process.exit(1)
})
