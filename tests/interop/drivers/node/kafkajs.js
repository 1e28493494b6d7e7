// The verbs, in terms of kafkajs.
import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'
import { Inbox, pack, parts, unsupported, versionOf } from './serve.js'

const { CompressionTypes, Kafka, logLevel } = kafkajs
const CODECS = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }
const KINDS = {
  UNKNOWN_TOPIC_OR_PARTITION: 'unknown_topic',
  MESSAGE_TOO_LARGE: 'too_large',
  OFFSET_OUT_OF_RANGE: 'out_of_range',
  ILLEGAL_GENERATION: 'rebalancing',
  UNKNOWN_MEMBER_ID: 'rebalancing',
  REBALANCE_IN_PROGRESS: 'rebalancing'
}

/** Headers are an object here: a name that comes twice loses its place among the others. */
function headersOf (pairs) {
  const names = pairs.map(([name]) => name)
  if (new Set(names).size < names.length) throw unsupported('order among repeated headers')
  return Object.fromEntries(pairs)
}

function recordOf (partition, message) {
  const headers = Object.entries(message.headers ?? {})
    .flatMap(([name, values]) => [values].flat().map(value => [name, pack(value)]))
  return {
    partition,
    offset: Number(message.offset),
    key: pack(message.key),
    value: pack(message.value),
    headers,
    timestamp: Number(message.timestamp)
  }
}

export default class Kafkajs {
  constructor (address) {
    this.inbox = new Inbox()
    const logCreator = () => ({ log }) => this.hear(log)
    const settings = { brokers: [address], logLevel: logLevel.ERROR, logCreator }
    // It would ask for an unknown topic five times, each time after a longer rest.
    this.kafka = new Kafka({ ...settings, retry: { retries: 2 } })
    this.idempotent = new Kafka(settings)
  }

  /** It goes to an end of the log by itself, as members shall, and says so in its log only. */
  hear (log) {
    console.error(log)
    if (!this.isMember && /out of range/i.test(log.message)) {
      this.inbox.fail(unsupported('way to report an offset out of range'))
    }
  }

  kind (error) {
    const causes = [error, error.cause, ...(error.errors ?? [])]
    if (causes.some(cause => cause?.name === 'KafkaJSNotImplemented')) return 'unsupported'
    // A value that it cannot write, as that of a header without one.
    if (error.code === 'ERR_INVALID_ARG_TYPE') return 'unsupported'
    return causes.map(cause => KINDS[cause?.type]).find(Boolean)
  }

  hello () {
    return { client: 'kafkajs', version: versionOf('kafkajs') }
  }

  async admin (work) {
    const admin = this.kafka.admin()
    await admin.connect()
    try {
      return await work(admin)
    } finally {
      await admin.disconnect()
    }
  }

  create ({ topic, partitions, config }) {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
    const topics = [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }]
    return this.admin(admin => admin.createTopics({ topics }))
  }

  delete ({ topic }) {
    return this.admin(admin => admin.deleteTopics({ topics: [topic] }))
  }

  async produce ({ topic, codec, acks, idempotent, records }) {
    const producer = (idempotent ? this.idempotent : this.kafka).producer({ idempotent })
    await producer.connect()
    try {
      const compression = CompressionTypes[CODECS[codec]]
      const options = { topic, compression, acks: acks === 'all' ? -1 : Number(acks) }
      for (const part of parts(records)) {
        const messages = part.map(record => ({
          ...record,
          headers: headersOf(record.headers),
          timestamp: record.timestamp === null ? undefined : String(record.timestamp)
        }))
        await producer.send({ ...options, messages })
      }
    } finally {
      await producer.disconnect()
    }
    return records.map(() => null)
  }

  async resolve (topic, partition, from) {
    if (from.offset !== undefined) return String(from.offset)
    const list = await this.admin(admin => from.time === undefined
      ? admin.fetchTopicOffsets(topic)
      : admin.fetchTopicOffsetsByTimestamp(topic, from.time))
    const found = list.find(entry => entry.partition === partition)
    return from.time !== undefined ? found.offset : from === 'end' ? found.high : found.low
  }

  /** It reads as a member only, so it gets a group of its own. */
  async open ({ topic, partition, from }) {
    this.isMember = false
    await this.reader?.disconnect()
    const offset = await this.resolve(topic, partition, from)
    this.reader = await this.consume(`reader-${randomUUID()}`, topic, { retry: { retries: 0 } })
    this.place = { topic, partition }
    this.reader.seek({ ...this.place, offset })
    this.inbox.clear()
  }

  async consume (groupId, topic, options) {
    // It does not send heartbeats while a fetch waits.
    const settings = { groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 300 }
    const consumer = this.kafka.consumer({ ...settings, ...options })
    this.inbox.clear()
    const { CRASH, GROUP_JOIN, REBALANCING } = consumer.events
    consumer.on(CRASH, ({ payload }) => this.inbox.fail(payload.error))
    consumer.on(REBALANCING, () => { this.assignment = [] })
    const joined = new Promise(resolve => consumer.on(GROUP_JOIN, ({ payload }) => {
      this.assignment = payload.memberAssignment[topic] ?? []
      resolve()
    }))
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => this.inbox.push(recordOf(partition, message))
    })
    if (!options.sessionTimeout) await joined
    return consumer
  }

  read ({ count, seconds }) {
    return this.inbox.take(count, seconds)
  }

  /** What was pushed before is of the old place. */
  seek ({ offset }) {
    this.reader.seek({ ...this.place, offset: String(offset) })
    this.inbox.clear()
  }

  async join ({ group, topic, session_ms: sessionTimeout }) {
    this.isMember = true
    this.given = new Map()
    this.assignment = []
    this.topic = topic
    const heartbeatInterval = sessionTimeout / 6
    this.member = await this.consume(group, topic, { sessionTimeout, heartbeatInterval })
  }

  async poll ({ count, seconds }) {
    const records = await this.inbox.take(count, seconds)
    for (const { partition, offset } of records) this.given.set(partition, offset + 1)
    return { records, assignment: [...this.assignment].sort() }
  }

  async commit () {
    const mine = [...this.given].filter(([partition]) => this.assignment.includes(partition))
    await this.member.commitOffsets(mine.map(([partition, offset]) => (
      { topic: this.topic, partition, offset: String(offset) })))
  }

  leave () {
    return this.member.disconnect()
  }
}
