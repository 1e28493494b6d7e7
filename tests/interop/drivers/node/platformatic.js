// The verbs, in terms of @platformatic/kafka.
import { randomUUID } from 'node:crypto'
import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { Inbox, pack, parts, versionOf } from './serve.js'

const KINDS = {
  UNKNOWN_TOPIC_OR_PARTITION: 'unknown_topic',
  MESSAGE_TOO_LARGE: 'too_large',
  OFFSET_OUT_OF_RANGE: 'out_of_range',
  ILLEGAL_GENERATION: 'rebalancing',
  UNKNOWN_MEMBER_ID: 'rebalancing',
  REBALANCE_IN_PROGRESS: 'rebalancing'
}
const TIMES = { start: -2n, end: -1n }
// By default it gives up after 3 retries, and may know a former leader for 5 minutes.
const PATIENT = { retries: 100, retryDelay: 100, metadataMaxAge: 500 }

/** All errors within an error. */
function * causes (error) {
  if (!error) return
  yield error
  yield * causes(error.cause)
  for (const inner of error.errors ?? []) yield * causes(inner)
}

/** Headers are a map here, but buffers are keys by identity: one name may come twice. */
function headersOf (pairs) {
  return new Map(pairs.map(([name, value]) => [Buffer.from(name), value]))
}

function recordOf (message) {
  return {
    partition: message.partition,
    offset: Number(message.offset),
    key: pack(message.key),
    value: pack(message.value),
    headers: message.headerEntries.map(([name, value]) => [name.toString(), pack(value)]),
    timestamp: Number(message.timestamp)
  }
}

export default class Platformatic {
  constructor (address) {
    this.defaults = { clientId: 'interop', bootstrapBrokers: [address] }
    this.settings = { ...this.defaults, retries: 2 }
    this.inbox = new Inbox()
  }

  kind (error) {
    if (/^Unknown topic /.test(error.message)) return 'unknown_topic'
    return [...causes(error)].map(cause => KINDS[cause.apiId]).find(Boolean)
  }

  hello () {
    return { client: 'platformatic', version: versionOf('@platformatic/kafka') }
  }

  async admin (work) {
    const admin = new Admin(this.settings)
    try {
      return await work(admin)
    } finally {
      await admin.close()
    }
  }

  create ({ topic, partitions, config }) {
    const configs = Object.entries(config).map(([name, value]) => ({ name, value }))
    return this.admin(admin => admin.createTopics({ topics: [topic], partitions, replicas: 1, configs }))
  }

  delete ({ topic }) {
    return this.admin(admin => admin.deleteTopics({ topics: [topic] }))
  }

  async produce ({ topic, codec, acks, idempotent, records }) {
    const settings = idempotent ? { ...this.defaults, ...PATIENT } : this.settings
    const producer = new Producer({ ...settings, idempotent, autocreateTopics: true })
    const options = { compression: codec, acks: acks === 'all' ? -1 : Number(acks), idempotent }
    try {
      for (const part of parts(records)) {
        const messages = part.map(record => ({
          topic,
          partition: record.partition,
          key: record.key,
          value: record.value,
          headers: headersOf(record.headers),
          timestamp: record.timestamp === null ? undefined : BigInt(record.timestamp)
        }))
        await producer.send({ ...options, messages })
      }
    } finally {
      await producer.close()
    }
    return records.map(() => null)
  }

  consumer (groupId, options) {
    this.inbox.clear()
    return new Consumer({ ...this.settings, groupId, autocommit: false, maxWaitTime: 500, ...options })
  }

  /** Hears a stream of messages; one that was replaced is heard no more. */
  listen (stream) {
    this.stream = stream
    stream.on('data', message => { if (stream === this.stream) this.inbox.push(recordOf(message)) })
    stream.on('error', error => { if (stream === this.stream) this.inbox.fail(error) })
  }

  /** It reads as a member only, so it gets a group of its own. */
  async open ({ topic, partition, from }) {
    await this.reader?.close(true)
    this.reader = this.consumer(`reader-${randomUUID()}`)
    this.place = { topic, partition }
    let offset = BigInt(from.offset ?? 0)
    if (from.offset === undefined) {
      const timestamp = from.time === undefined ? TIMES[from] : BigInt(from.time)
      const listed = await this.reader.listOffsets({ topics: [topic], timestamp })
      offset = listed.get(topic)[partition]
    }
    await this.startAt(offset)
  }

  async startAt (offset) {
    const options = { mode: 'manual', fallbackMode: 'fail', offsets: [{ ...this.place, offset }] }
    this.listen(await this.reader.consume({ topics: [this.place.topic], ...options }))
  }

  read ({ count, seconds }) {
    return this.inbox.take(count, seconds)
  }

  /** A stream cannot be moved; another one begins elsewhere. */
  async seek ({ offset }) {
    const old = this.stream
    this.stream = null
    await old.close()
    this.inbox.clear()
    await this.startAt(BigInt(offset))
  }

  async join ({ group, topic, session_ms: sessionTimeout }) {
    this.given = new Map()
    this.topic = topic
    const heartbeatInterval = sessionTimeout / 6
    this.member = this.consumer(group, { sessionTimeout, heartbeatInterval, rebalanceTimeout: 60_000 })
    const options = { topics: [topic], mode: 'committed', fallbackMode: 'earliest' }
    this.joining = this.member.consume(options).then(
      stream => this.listen(stream),
      error => this.inbox.fail(error)
    )
  }

  assignment () {
    const mine = (this.member.assignments ?? []).filter(({ topic }) => topic === this.topic)
    return mine.flatMap(({ partitions }) => partitions).sort()
  }

  async poll ({ count, seconds }) {
    const records = await this.inbox.take(count, seconds)
    for (const { partition, offset } of records) this.given.set(partition, offset)
    return { records, assignment: this.assignment() }
  }

  async commit () {
    const mine = this.assignment()
    const offsets = [...this.given]
      .filter(([partition]) => mine.includes(partition))
      .map(([partition, offset]) => (
        { topic: this.topic, partition, offset: BigInt(offset) + 1n, leaderEpoch: -1 }))
    await this.member.commit({ offsets })
  }

  leave () {
    return this.member.close(true)
  }
}
