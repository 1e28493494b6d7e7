// The driver's end of the line protocol.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

/** An error with one of the protocol's words. */
export class Refusal extends Error {
  constructor (kind, text) {
    super(text)
    this.kind = kind
  }
}

export const unsupported = what => new Refusal('unsupported', `the client has no ${what}`)

export const pack = data => (data == null ? null : Buffer.from(data).toString('base64'))
export const unpack = text => (text == null ? null : Buffer.from(text, 'base64'))

/** Splits records so that no part exceeds what one batch may have: these clients send one each. */
export function parts (records) {
  const made = []
  let bytes = Infinity
  for (const record of records) {
    const size = 100 + (record.key?.length ?? 0) + (record.value?.length ?? 0)
    if (bytes + size > 900_000) {
      made.push([])
      bytes = 0
    }
    made.at(-1).push(record)
    bytes += size
  }
  return made
}

/** What a consumer has pushed and nobody has asked for yet. */
export class Inbox {
  constructor () {
    this.clear()
  }

  clear () {
    this.records = []
    this.error = null
    this.wake = () => {}
  }

  push (record) {
    this.records.push(record)
    this.wake()
  }

  fail (error) {
    this.error = error
    this.wake()
  }

  /** Up to so many records within the time. */
  async take (count, seconds) {
    const deadline = Date.now() + seconds * 1000
    while (this.records.length < count && Date.now() < deadline) {
      if (this.error) throw this.error
      await new Promise(resolve => {
        const timer = setTimeout(resolve, deadline - Date.now())
        this.wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.records.splice(0, count)
  }
}

/** The version of an installed package; not all of them let their package.json be imported. */
export function versionOf (name) {
  const require = createRequire(import.meta.url)
  return require(`./node_modules/${name}/package.json`).version
}

async function execute (driver, { verb, ...request }) {
  switch (verb) {
    case 'produce':
      for (const record of request.records) {
        record.key = unpack(record.key)
        record.value = unpack(record.value)
        record.headers = record.headers.map(([name, value]) => [name, unpack(value)])
      }
      return { offsets: await driver.produce(request) }
    case 'read':
      return { records: await driver.read(request) }
    case 'hello':
    case 'poll':
      return driver[verb](request)
    default:
      await driver[verb](request)
      return {}
  }
}

async function answer (driver, line) {
  try {
    return { ok: await execute(driver, JSON.parse(line)) }
  } catch (error) {
    console.error(error)
    return { error: error.kind ?? driver.kind(error) ?? 'other', text: String(error) }
  }
}

export async function main () {
  const [client, address] = process.argv.slice(2)
  const { default: Driver } = await import(`./${client}.js`)
  const driver = new Driver(address)
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(driver, line)) + '\n')
  }
  process.exit(0)
}
