// A sentence as data: read (decode), map, rows and columns of highlighted words, attention of heads to a word, prediction without a word.

import { numbers } from "../kit/maths.js"

/** @typedef {{layer: number, head: number, part: number}} Pick indices of a map; head -1 is the mean over heads, part 0 the effective map */

/** Decode the data once, and prepare frequent look-ups. */
export function read(data) {
  const scene = { ...data, unitOf: data.tokens.map(() => null), placeOf: new Map(), held: new Map() }
  for (const [u, unit] of data.units.entries()) for (const i of unit) scene.unitOf[i] = u
  if (data.maps) {
    const { shown, codes } = data.maps
    scene.side = shown.length
    for (const [k, i] of shown.entries()) scene.placeOf.set(i, k)
    scene.codes = codes.map(one => typeof one.codes === "string" ? { ...one, codes: numbers(one.codes, one.signed ? Int8Array : Uint8Array) } : one)
  }
  return scene
}

/** Return the tokens that are highlighted together with a token. @returns {number[]} */
export const together = (scene, i) => (scene.unitOf[i] ?? null) === null ? [i] : scene.units[scene.unitOf[i]]

/** Return the weights of a map, row by row. @param {Pick} pick @returns {Float32Array} */
export function map(scene, { layer, head, part }) {
  const key = [layer, head, part].join()
  if (!scene.held.has(key)) {
    const { codes, scale } = scene.codes[part], cells = scene.side ** 2, count = scene.maps.heads.length, found = new Float32Array(cells)
    const heads = head < 0 ? scene.maps.heads.map((_, h) => h) : [head]
    for (const h of heads) {
      const start = (layer * count + h) * cells
      for (let k = 0; k < cells; k++) found[k] += (scale * codes[start + k] * Math.abs(codes[start + k])) / heads.length
    }
    scene.held.set(key, found)
  }
  return scene.held.get(key)
}

/** Return the largest absolute weight, and whether any weight is negative. */
export function span(values) {
  let peak = 0, signed = false
  for (const value of values) {
    peak = Math.max(peak, Math.abs(value))
    signed ||= value < 0
  }
  return { peak: peak || 1, signed }
}

/** Return the indices of tokens in the maps; tokens that the maps leave out are skipped. @param {number[]} tokens */
export const places = (scene, tokens) => tokens.flatMap(i => scene.placeOf.get(i) ?? [])

/** Return the attention of tokens to every token, the mean of their rows; null if the maps have none of them. @returns {Float32Array|null} */
export function row(scene, pick, tokens) {
  const at = places(scene, tokens), values = scene.maps && map(scene, pick), { side } = scene
  if (!values || !at.length) return null
  return Float32Array.from({ length: side }, (_, c) => at.reduce((sum, r) => sum + values[r * side + c], 0) / at.length)
}

/** Return the attention of every token to some tokens, the sum of their columns. @returns {Float32Array|null} */
export function column(scene, pick, tokens) {
  const at = places(scene, tokens), values = scene.maps && map(scene, pick), { side } = scene
  if (!values || !at.length) return null
  return Float32Array.from({ length: side }, (_, r) => at.reduce((sum, c) => sum + values[r * side + c], 0))
}

/** Return the absolute attention of each head to some tokens, in multiples of an even share; layers by heads. @returns {number[][]|null} */
export function given(scene, tokens) {
  const at = places(scene, tokens), { side, maps } = scene
  if (!maps || !at.length) return null
  return maps.layers.map((_, layer) => maps.heads.map((_, head) => {
    const values = map(scene, { layer, head, part: 0 })
    let own = 0, all = 0
    for (let r = 0; r < side; r++) for (let c = 0; c < side; c++) all += Math.abs(values[r * side + c])
    for (let r = 0; r < side; r++) for (const c of at) own += Math.abs(values[r * side + c])
    return all ? (own / all) * (side / at.length) : 0
  }))
}

/** Return the probability of the explained class after a fall of its log-odds; both are calibrated. */
export const fallen = (scene, fall) => 1 / (1 + Math.exp(fall - scene.odds))

/** Return the probability of the explained class without a token's unit; null if it was not computed. */
export function without(scene, i) {
  const u = scene.unitOf[i] ?? null
  return u === null || !scene.falls || scene.falls[u] === null ? null : fallen(scene, scene.falls[u])
}

/** Return the first token of the unit that supports the explained class most; the first token if nothing was computed. */
export function leading({ falls, units }) {
  if (!falls || !units.length) return 0
  return units[falls.reduce((best, fall, u) => (fall > falls[best] ? u : best), 0)][0]
}

/** Return the indices of the largest absolute values, largest first. @param {ArrayLike<number>} values */
export const largest = (values, count) => [...values.keys()].sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, count)
