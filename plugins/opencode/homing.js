// homing in OpenCode. `homing setup opencode` puts this file beside OpenCode's settings and fills in the next line.
//
// One process is one arm of homing's daemon: it does requests in here for the daemon (the terminal program can be reached in no
// other way), tells it when turns begin and end, and has its tools, which are called from the session that calls them. It decides
// nothing. When the daemon is away the tools say so; what is owed stays owed.
const HOMING = /*HOMING*/ { home: "", start: "homing daemon start", replace: false, tools: [] }

import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const PAUSE = { first: 100, most: 2000 }
const STORED_MS = 5000 // a prompt that was taken is stored within this
const BEGINS_MS = 2000 // and a turn that was begun shows within this
const PATIENCE_MS = 10000 // how long a call tries to reach a daemon that is being restarted
const REMEMBERED = 200
const NOT_TWICE = ["background_send", "background_answer"]

// Pictures and documents stand in a transcript as text, and are large; the daemon has no use for them.
const withoutFiles = (key, value) => (key === "attachments" || (key === "url" && String(value).startsWith("data:")) ? undefined : value)
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
const given = (signal) => new Promise((up) => (signal?.aborted ? up() : signal?.addEventListener("abort", up, { once: true })))

class Arm {
  clients = new Map() // by directory
  files = new Map() // by directory: where this was loaded from
  turns = new Map() // the last turn of each session, when it began and its last prompt, the last session last
  busy = new Set() // sessions in which a turn runs, or begins
  working = new Set() // those of them that OpenCode calls busy
  undone = new Set() // sessions in which something is undone, and may be done again
  beginning = new Map() // by session: until a turn that was begun shows, or is none
  storing = new Map() // by message: who waits until it is stored
  bringing = new Map() // by session: until a debrief that is being brought is stored
  calls = new Set() // of our tools, whose answers are not stored yet
  name = undefined // while connected
  trying = undefined // until what it says first is answered
  waiting = [] // who goes on when it is connected
  said = Promise.resolve()
  nudge = () => {}

  // A directory that this process works in, with its own way in.
  works(directory, client) {
    const first = this.clients.size === 0
    this.clients.set(directory, client)
    if (first) this.keep()
    else this.tell({ what: "works", directory })
  }

  // The daemon says in its home where it listens.
  async ask(path, body, signal) {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    const headers = { "content-type": "application/json" }
    const url = `http://homing/v1/arms${path}`
    const { socket } = JSON.parse(readFileSync(join(process.env.HOMING_HOME || HOMING.home, "daemon.json"), "utf8"))
    return fetch(url, { unix: socket, method: "POST", headers, body: text, signal, timeout: false })
  }

  // Stays connected, as long as this process lives.
  async keep() {
    for (let pause = PAUSE.first; ; pause = Math.min(pause * 2, PAUSE.most)) {
      try {
        const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local/share"), "opencode")
        const hello = { data, directories: [...this.clients.keys()], sessions: this.sessions() }
        this.trying = new Promise((done) => this.waiting.push(done))
        const reply = await this.ask("", hello)
        if (reply.ok) {
          pause = PAUSE.first
          let rest = ""
          for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
            rest += chunk
            for (let end; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) this.take(rest.slice(0, end))
          }
        }
      } catch {}
      this.name = undefined
      this.settle()
      await Promise.race([sleep(pause), new Promise((done) => (this.nudge = done))])
    }
  }

  sessions() {
    return [...this.turns].map(([session, { turn, at, last }]) => ({ session, turn, at, last, runs: this.busy.has(session) }))
  }

  // It is connected, or it will not be for now.
  settle() {
    this.trying = undefined
    for (const done of this.waiting.splice(0)) done()
  }

  // At the next word from the daemon, or when there is none.
  connected() {
    const coming = new Promise((done) => this.waiting.push(done))
    this.nudge()
    return coming
  }

  take(text) {
    const field = (name) => text.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    const data = JSON.parse(field("data") ?? "null")
    if (field("event") === "hello") {
      this.name = data.arm
      this.settle()
    }
    if (field("event") === "order") this.perform(data)
  }

  async perform(order) {
    const arm = this.name
    const answer = (status, body) => this.ask(`/${arm}/answers/${order.id}/${status}`, JSON.stringify(body ?? null, withoutFiles))
    const tell = async (status, body) => {
      const reply = await answer(status, body).catch(() => {})
      // More than the daemon reads: it is told that at once.
      if (reply?.status === 413) await answer(413, await reply.text()).catch(() => {})
    }
    try {
      const client = [...this.clients.values()].at(-1)
      if (order.between && ((await this.isUndone(client, order.between)) || this.busy.has(order.between))) return await tell(409)
      const stored = order.stores && this.stored(order.stores)
      if (stored && order.between) this.bring(order.between, stored)
      const body = order.body ? { body: JSON.parse(order.body), headers: { "content-type": "application/json" } } : {}
      const { data, error, response } = await client._client.request({ method: order.method, url: order.path, ...body })
      if (response.ok && order.next.length) {
        const rest = await Promise.all(order.next.map((url) => client._client.request({ method: "GET", url })))
        const bad = rest.find((one) => !one.response.ok)
        return bad ? await tell(bad.response.status, bad.error) : await tell(200, [data, ...rest.map((one) => one.data)])
      }
      if (response.ok && stored) {
        await stored
        this.toast(client, body.body.parts?.[0]?.text ?? "homing: a debrief", "info")
      }
      await tell(response.status, data ?? error)
    } catch (why) {
      await tell(500, String(why))
    } finally {
      // What was not taken will not be stored: nobody waits for it.
      this.storing.get(order.stores)?.()
    }
  }

  // Another program may have done it again, and that is not heard of here.
  async isUndone(client, session) {
    if (!this.undone.has(session)) return false
    const { data } = await client._client.request({ method: "GET", url: `/session/${session}` })
    if (!data?.revert) this.undone.delete(session)
    return this.undone.has(session)
  }

  stored(message) {
    return Promise.race([sleep(STORED_MS), new Promise((done) => this.storing.set(message, done))]).finally(() => this.storing.delete(message))
  }

  bring(session, stored) {
    this.bringing.set(session, stored)
    stored.then(() => this.bringing.get(session) === stored && this.bringing.delete(session))
  }

  toast(client, message, variant) {
    // Whoever does not see it loses nothing.
    Promise.resolve(client.tui?.showToast?.({ body: { message, variant } })).catch(() => {})
  }

  // In the order in which things happened.
  tell(word) {
    this.said = this.said.then(async () => {
      // What happens while it says hello is told after that.
      await this.trying
      if (this.name) await this.ask(`/${this.name}/words`, word).catch(() => {})
    })
  }

  began(session, turn) {
    this.busy.add(session)
    this.turns.delete(session)
    this.turns.set(session, { turn, at: Date.now(), last: turn })
    if (this.turns.size > REMEMBERED) this.turns.delete(this.turns.keys().next().value)
    this.tell({ what: "began", session, turn })
    this.begins(session, STORED_MS)
  }

  // What wants no answer, or failed before it began, is no turn.
  begins(session, within) {
    clearTimeout(this.beginning.get(session))
    const over = () => this.beginning.delete(session) && (this.working.has(session) || this.ended(session))
    this.beginning.set(session, setTimeout(over, within))
  }

  ended(session) {
    this.working.delete(session)
    if (this.busy.delete(session)) this.tell({ what: "ended", session })
  }

  hear({ type, properties }) {
    const session = properties?.sessionID
    if (type === "session.status" && properties.status.type !== "idle") {
      this.busy.add(session)
      this.working.add(session)
    } else if (type === "session.idle" || type === "session.status") this.ended(session)
    else if (type === "session.error" && session && !this.working.has(session)) this.ended(session)
    else if (type === "session.updated") this.undone[properties.info?.revert ? "add" : "delete"](properties.info?.id)
    else if (type === "session.deleted") this.tell({ what: "deleted", session: properties.info?.id ?? session })
    else if (type === "message.updated") {
      const { id, sessionID, role, time } = properties.info
      this.storing.get(id)?.()
      const ran = this.turns.get(sessionID)
      // Also what OpenCode itself says there, or a person who runs a command.
      if (role === "user" && time?.created >= ran?.at) ran.last = id
      if (this.beginning.has(sessionID) && ran?.turn === id) this.begins(sessionID, BEGINS_MS)
    } else if (type === "message.part.updated" && properties.part.type === "tool") {
      const { callID: call, sessionID: session, messageID: message, state } = properties.part
      const over = state.status === "completed" || state.status === "error"
      if (over && this.calls.delete(`${message} ${call}`)) this.tell({ what: "stored", session, message, call })
    }
  }

  // An answer of the daemon, or why there is none.
  async reach(path, body, { signal, patience = 0 } = {}) {
    const until = Date.now() + patience
    for (;;) {
      // One that does not answer at all is away, too.
      if (!this.name) await Promise.race([this.connected(), sleep(PATIENCE_MS), given(signal)])
      if (signal?.aborted) throw new Refusal("homing was not asked: the call was given up")
      try {
        if (this.name) {
          const reply = await this.ask(`/${this.name}${path}`, body, signal)
          const said = await reply.json()
          if (reply.ok) return said
          // An arm that the daemon does not know any more is about to be another one.
          if (reply.status !== 404 && reply.status !== 503) throw new Refusal([said.detail ?? said.title, said.hint].filter(Boolean).join("; try: "))
        }
      } catch (why) {
        if (why instanceof Refusal || signal?.aborted) throw why
      }
      if (Date.now() >= until) throw new Refusal(`homing's daemon cannot be reached. A person can start it: ${HOMING.start}. What is owed is kept meanwhile.`)
      await sleep(PAUSE.first)
    }
  }

  async call(tool, args, context, client) {
    const { sessionID: session, messageID: message, callID: call, directory, abort: signal } = context
    const once = NOT_TWICE.includes(tool) || (tool === "background_task" && args.task_id)
    this.calls.add(`${message} ${call}`)
    const called = { session, message, call, turn: this.turns.get(session)?.turn, directory, args }
    const said = await this.reach(`/tools/${tool}`, called, { signal, patience: once ? 0 : PATIENCE_MS })
    if (said.failed) throw new Refusal(said.words)
    if (tool === "background_task") this.toast(client, `homing: ${said.data.task.name ?? said.data.task.id} is ${said.data.task.state}`, "info")
    return said.words
  }

  hooks(client) {
    const named = HOMING.tools.concat(HOMING.replace ? [{ ...HOMING.tools.find((tool) => tool.name === "background_task"), as: "task" }] : [])
    const schemas = Object.fromEntries(named.map((tool) => [tool.as ?? tool.name, tool.schema]))
    return {
      tool: Object.fromEntries(named.map((tool) => [tool.as ?? tool.name, {
        description: tool.description,
        args: tool.schema.properties ?? {},
        execute: (args, context) => this.call(tool.name, args, context, client),
      }])),
      "tool.definition": async ({ toolID }, output) => {
        if (schemas[toolID]) output.jsonSchema = schemas[toolID]
      },
      event: async ({ event }) => this.hear(event),
      "chat.message": async ({ sessionID }, { message }) => {
        // What a person says just then comes after it: the last word is the one that is answered for sure.
        if (!this.storing.has(message.id)) {
          await this.bringing.get(sessionID)
          // OpenCode goes by when it was said, and it may have been preparing it for long.
          if (message.time?.created) message.time.created = Date.now()
        }
        this.began(sessionID, message.id)
      },
      "shell.env": async ({ sessionID: session }, output) => {
        if (!session || !this.name) return
        const said = await this.reach("/env", { session }, { signal: AbortSignal.timeout(2000) }).catch(() => undefined)
        Object.assign(output.env, said?.env)
      },
      "experimental.session.compacting": async ({ sessionID: session }, output) => {
        const called = { session, message: "", call: "", args: { all: true } }
        const said = await this.reach("/tools/background_list", called, { signal: AbortSignal.timeout(5000) }).catch(() => undefined)
        if (said?.words) output.context.push(`Background tasks of this session, from homing. Keep their ids.\n${said.words}`)
      },
    }
  }
}

class Refusal extends Error {}

export const Homing = async ({ client, directory }) => {
  // Loaded twice in one process, it is one arm; from two places, the first is the one that works.
  const arm = (globalThis[Symbol.for("homing.arm")] ??= new Arm())
  if (arm.files.has(directory) && arm.files.get(directory) !== import.meta.url) return {}
  arm.files.set(directory, import.meta.url)
  arm.works(directory, client)
  return arm.hooks(client)
}
