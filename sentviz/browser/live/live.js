// A page that computes: a field, and the linked picture of its text, by a graph and a tokenizer that the page holds.

import { mount } from "../canvas/canvas.js"
import { Asker } from "../canvas/typing.js"
import { sceneData } from "./scene.js"
import { readText } from "./text.js"

const LONGEST = 20_000 // characters that are read
const COLOURED = 64 // largest number of tokens of a text that is computed again without each word: one batch of at most 64 x 64 x 64 weights per head

/** @returns {Uint8Array} */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text)
  const letters = atob(text), bytes = new Uint8Array(letters.length)
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k)
  return bytes
}

/** Return the bytes of a part of the page, which is compressed and written as base64. @returns {Promise<Uint8Array>} */
async function bytesOf(id, size) {
  const packed = fromBase64(document.getElementById(id)?.textContent ?? "")
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")), bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  if (bytes.length !== size) throw new Error(`${id} has ${bytes.length} of ${size} bytes`)
  return bytes
}

/** Return the inputs of a graph for rows of ids, padded at the end. @param {number[][]} rows */
export function feeds(Tensor, names, rows) {
  const n = Math.max(1, ...rows.map(row => row.length)), shape = [rows.length, n], ids = new BigInt64Array(rows.length * n), mask = new Uint8Array(rows.length * n)
  for (const [r, row] of rows.entries()) for (const [k, id] of row.entries()) [ids[r * n + k], mask[r * n + k]] = [BigInt(id), 1]
  const all = { ids: new Tensor("int64", ids, shape), mask: new Tensor("bool", mask, shape), segments: new Tensor("int64", new BigInt64Array(ids.length), shape) }
  return Object.fromEntries(names.map(name => [name, all[name]]))
}

/** Answers texts. @param session of onnxruntime @param {{Tensor: any}} runtime */
export class Answerer {
  constructor(runtime, session, tokenizer, card) {
    Object.assign(this, { runtime, session, tokenizer, card })
  }

  /** @returns {Promise<{data: any, note: string}|{error: string}>} the picture of a text and what it leaves out, or why there is none */
  async answer(text) {
    const { card } = this, reading = readText(this.tokenizer, card, text.slice(0, LONGEST)), { units, ids } = reading
    if (!units.length) return { error: "The model reads nothing in this text." }
    const outputs = ["logits", "attention", ...(card.parts.length > 1 ? ["components"] : [])], found = await this.run([ids], outputs)
    const removes = card.removes && ids.length <= COLOURED, without = removes ? await this.without(reading) : null, wide = { logits: [...found.logits.data], attention: found.attention.data, components: found.components?.data, without }
    return { data: sceneData(card, text, reading, wide), note: left(text, reading, card.removes && !removes) }
  }

  /** Return the logits without each unit; null for the only word of a text. */
  async without({ ids, units }) {
    if (units.length < 2) return units.map(() => null)
    const { logits } = await this.run(units.map(unit => ids.filter((_, k) => !unit.includes(k))), ["logits"]), classes = this.card.labels.length
    return units.map((_, u) => [...logits.data.slice(u * classes, (u + 1) * classes)])
  }

  run(rows, outputs) {
    return this.session.run(feeds(this.runtime.Tensor, this.card.inputs, rows), outputs)
  }
}

async function opened(card) {
  const { ort, tokenizers } = globalThis
  const [wasm, graph, words] = await Promise.all(["wasm", "graph", "words"].map(id => bytesOf(id, card.sizes[id])))
  Object.assign(ort.env.wasm, { wasmBinary: wasm, numThreads: 1, proxy: false })
  ort.env.logLevel = "error"
  const session = await ort.InferenceSession.create(graph, { executionProviders: ["wasm"], logSeverityLevel: 3 })
  return new Answerer(ort, session, new tokenizers.Tokenizer(JSON.parse(new TextDecoder().decode(words)), {}), card)
}

export function mountLive(root) {
  const view = mount(root), [box, state, verdict] = [".typed", ".state", ".verdict"].map(name => root.querySelector(name))
  let answerer = null

  function draw({ data, error, note }) {
    state.textContent = error ?? note
    if (!data) return
    globalThis.live = data // for tests, and for whoever opens the console
    verdict.textContent = said(data)
    if (view.scene) [data.pick, data.pinned] = [view.pick ?? data.pick, null]
    view.show(data)
  }

  const asker = new Asker(text => answerer.answer(text).catch(error => ({ error: `This text could not be computed (${error.message}).` })), (_, answer) => draw(answer))
  box.oninput = () => answerer && box.value.trim() && asker.want(box.value)

  async function show({ first, card, text }) {
    box.value = text
    verdict.textContent = said(first)
    view.show(first)
    if (!globalThis.WebAssembly || !globalThis.DecompressionStream) {
      state.textContent = "This browser cannot compute: it has no WebAssembly. The picture is of the sentence that was stored."
      return
    }
    state.textContent = "The model is being opened."
    try {
      answerer = await opened({ ...card, view: { tour: first.tour, palettes: first.palettes } })
    } catch (error) {
      state.textContent = `The model of this file cannot be opened (${String(error.message).slice(0, 120)}). The file may have been cut off; the picture is of the sentence that was stored.`
      return
    }
    state.textContent = "Type: the picture follows each key."
    if (box.value !== text) box.oninput()
  }

  return { tell() {}, show: data => (document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", () => show(data)) : show(data)) }
}

/** Return in words what the picture of a text leaves out. @param {{ids: number[], dropped: number}} reading @param {boolean} plain words have no colours */
export function left(text, { ids, dropped }, plain) {
  const most = text.length > LONGEST ? `Only the first ${LONGEST.toLocaleString("en")} characters are looked at. ` : ""
  const read = dropped ? `Only the first ${ids.length} tokens are read; ${dropped.toLocaleString("en")} more are left out. ` : ""
  return most + read + (plain ? `Words have colours in texts of at most ${COLOURED} tokens.` : "")
}

/** Return a prediction in words. */
export function said({ labels, probabilities, best }) {
  const [first, ...others] = labels[best], p = probabilities[best]
  return `${first.toUpperCase()}${others.join("")}, ${p > 0.995 ? ">99" : Math.round(100 * p)}%.`
}
