// A page that computes: a field, and the linked picture of its text by each model, by graphs and tokenizers that the page holds.

import { mount } from "../canvas/canvas.js"
import { Asker } from "../canvas/typing.js"
import { sceneData } from "./scene.js"
import { readText } from "./text.js"

const LONGEST = 20_000 // characters that are read
const WAIT = 150 // milliseconds that the picture waits for the colours of its words; colours that need longer follow
const SLICE = 80 // milliseconds of computing before the page may react to a key
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11] // a module that needs SIMD
const STORED = "The picture is of the sentence that was stored."

const pause = () => new Promise(done => setTimeout(done))

/** @returns {Uint8Array} */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text)
  const letters = atob(text), bytes = new Uint8Array(letters.length)
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k)
  return bytes
}

/** Return the bytes of a part of the page, which is compressed and written as base64, and remove it. @returns {Promise<Uint8Array>} */
async function bytesOf(id, size) {
  const node = document.getElementById(id), packed = fromBase64(node?.textContent ?? "")
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer().catch(() => [])) // a part that was cut off cannot be unpacked
  if (bytes.length !== size) throw new Error(`${id} has ${bytes.length} of ${size} bytes`)
  node.remove()
  return bytes
}

/** Return the inputs of a graph for rows of ids, padded at the end. @param {number[][]} rows */
export function feeds(Tensor, names, rows) {
  const n = Math.max(1, ...rows.map(row => row.length)), shape = [rows.length, n], ids = new BigInt64Array(rows.length * n), mask = new Uint8Array(rows.length * n)
  for (const [r, row] of rows.entries()) for (const [k, id] of row.entries()) [ids[r * n + k], mask[r * n + k]] = [BigInt(id), 1]
  const all = { ids: new Tensor("int64", ids, shape), mask: new Tensor("bool", mask, shape), segments: new Tensor("int64", new BigInt64Array(ids.length), shape) }
  return Object.fromEntries(names.map(name => [name, all[name]]))
}

/** Answers texts by one model. @param session of onnxruntime @param {{Tensor: any}} runtime */
export class Answerer {
  constructor(runtime, session, tokenizer, card) {
    Object.assign(this, { runtime, session, tokenizer, card })
  }

  /** Answer a text: at once with the colours of its words if they are computed quickly, else first without them, then with them.
   * @param {() => boolean} stale whether the answer is not wanted any more
   * @returns {AsyncGenerator<{data: any, note: string}|{error: string}>} pictures of the text and what they leave out, or why there is none */
  async *answers(text, stale = () => false) {
    const { card } = this, reading = readText(this.tokenizer, card, text.slice(0, LONGEST)), { units, ids } = reading, note = left(text, reading, card)
    if (!units.length) return yield { error: "The model reads nothing in this text." }
    const start = performance.now(), found = await this.run([ids], ["logits", "attention", ...(card.parts.length > 1 ? ["components"] : [])])
    const one = performance.now() - start, wide = { logits: [...found.logits.data], attention: found.attention.data, components: found.components?.data }
    const picture = without => sceneData(card, text, reading, { ...wide, without })
    const slow = one * units.length > WAIT, rows = slow ? Math.max(1, Math.floor(SLICE / one)) : units.length, without = units.length < 2 ? [null] : []
    while (without.length < units.length) {
      if (slow) yield { data: without.length ? null : picture(null), note: `${note}The model reads the text without each word: ${without.length} of ${units.length}.` }
      if (slow) await pause()
      if (stale()) return
      without.push(...await this.without(ids, units.slice(without.length, without.length + rows)))
    }
    yield { data: picture(without), note }
  }

  /** Return the logits of a text without each of some units. */
  async without(ids, units) {
    const { logits } = await this.run(units.map(unit => ids.filter((_, k) => !unit.includes(k))), ["logits"]), classes = this.card.labels.length
    return units.map((_, u) => [...logits.data.slice(u * classes, (u + 1) * classes)])
  }

  run(rows, outputs) {
    return this.session.run(feeds(this.runtime.Tensor, this.card.inputs, rows), outputs)
  }
}

/** Open the models of the page. @param {any[]} cards @returns {Promise<Answerer[]>} */
export async function opened(cards, wasmBytes) {
  const { ort, tokenizers } = globalThis, answerers = []
  Object.assign(ort.env.wasm, { wasmBinary: await bytesOf("wasm", wasmBytes), numThreads: 1, proxy: false })
  ort.env.logLevel = "error"
  for (const [k, card] of cards.entries()) {
    const [graph, words] = await Promise.all(["graph", "words"].map(name => bytesOf(`${name}-${k}`, card.sizes[name])))
    const session = await ort.InferenceSession.create(graph, { executionProviders: ["wasm"], logSeverityLevel: 3 })
    answerers.push(new Answerer(ort, session, new tokenizers.Tokenizer(JSON.parse(new TextDecoder().decode(words)), {}), card))
  }
  return answerers
}

/** The part of the page that shows one model's answer. */
class Panel {
  constructor(node, { first, card }) {
    Object.assign(this, { view: mount(node), verdict: node.querySelector(".verdict"), state: node.querySelector(".note-of-model"), first, card })
    this.view.tell = () => {}
    this.draw({ data: first, note: "" })
  }

  draw({ data, error, note }) {
    this.state.textContent = error ?? note
    if (!data) return
    const { view } = this
    this.verdict.textContent = said(data)
    if (view.scene) [data.pick, data.pinned] = [view.pick ?? data.pick, view.scene.text === data.text ? view.pinned : null]
    view.show(data)
  }
}

export function mountLive(root) {
  const box = root.querySelector(".typed"), state = root.querySelector(".state")

  async function show({ models, text, wasm }) {
    const panels = [...root.querySelectorAll(".model")].map((node, k) => new Panel(node, models[k]))
    box.value = text
    const why = unable()
    if (why) return stop(`This browser cannot compute: ${why}. ${STORED}`)
    state.textContent = models.length > 1 ? "The models are being opened." : "The model is being opened."
    await pause() // the stored picture is painted first
    let answerers
    try {
      answerers = await opened(models.map(({ first, card }) => ({ ...card, view: { tour: first.tour, palettes: first.palettes } })), wasm)
    } catch (error) {
      return stop(`The model of this file cannot be opened (${String(error.message).slice(0, 120)}). The file may have been cut off. ${STORED}`)
    }
    state.textContent = "Type: the picture follows each key."
    const asker = new Asker(async asked => {
      const stale = () => asker.newest !== asked
      let turns = answerers.map((answerer, k) => ({ panel: panels[k], answers: answerer.answers(asked, stale) }))
      while (turns.length && !stale()) { // the models take turns, so that each shows its prediction before any measures the words of a long text
        const going = []
        for (const turn of turns) if (await step(turn)) going.push(turn)
        turns = going
      }
      return {}
    }, () => {})
    box.oninput = () => {
      state.textContent = ""
      if (box.value.trim()) asker.want(box.value)
    }
    if (box.value !== text) box.oninput()
  }

  function stop(why) {
    state.textContent = why
    box.readOnly = true
  }

  return { tell() {}, show: data => (document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", () => show(data)) : show(data)) }
}

/** Draw the next picture of a model; return whether more may follow. @returns {Promise<boolean>} */
async function step({ panel, answers }) {
  try {
    const { value, done } = await answers.next()
    if (!done) panel.draw(value)
    return !done
  } catch (error) {
    panel.draw({ error: `This text could not be computed (${error.message}).` })
    return false
  }
}

/** Return why a browser cannot compute; "" if it can. */
export function unable({ WebAssembly, DecompressionStream } = globalThis) {
  if (!WebAssembly) return "it has no WebAssembly"
  if (!WebAssembly.validate(new Uint8Array(SIMD))) return "its WebAssembly has no SIMD"
  return DecompressionStream ? "" : "it cannot unpack the model"
}

/** Return in words what the picture of a text leaves out, and which tokens of the model the page reads as plain text.
 * @param {{ids: number[], dropped: number}} reading @param {{spelled: string[], tokens: {truncation_side: string}}} card */
export function left(text, { ids, dropped }, { spelled, tokens }) {
  const whole = spelled.filter(token => text.includes(token)).slice(0, 3).join(", "), end = tokens.truncation_side === "left" ? "last" : "first"
  const most = text.length > LONGEST ? `Only the first ${LONGEST.toLocaleString("en")} characters are looked at. ` : ""
  const plain = whole && `The model has a token for ${whole}; this page reads it as plain text, so its answer may differ. `
  return plain + most + (dropped ? `Only the ${end} ${ids.length} tokens are read; ${dropped.toLocaleString("en")} more are left out. ` : "")
}

/** Return a prediction in words. */
export function said({ labels, probabilities, best }) {
  const [first, ...others] = labels[best], p = probabilities[best]
  return `${first.toUpperCase()}${others.join("")}, ${p > 0.995 ? ">99" : Math.round(100 * p)}%.`
}
