// A sentence as data: read (decode), map, rows and columns of what is lit, what heads give a word, and what the answer would be without it.

import { numbers } from "../kit/maths.js"

/** @typedef {{layer: number, head: number, part: number}} Pick which map: places along the axes; head -1 is the mean over heads, part 0 effective */

/** Decoded once; what the browser asks again and again is looked up. */
export function read(data) {
  const scene = { ...data, unitOf: data.tokens.map(() => null), placeOf: new Map(), held: new Map() }
  for (const [u, unit] of data.units.entries()) for (const i of unit) scene.unitOf[i] = u
  if (data.maps) {
    const { shown, codes } = data.maps
    scene.side = shown.length
    for (const [k, i] of shown.entries()) scene.placeOf.set(i, k)
    scene.codes = codes.map(one => ({ ...one, codes: numbers(one.codes, one.signed ? Int8Array : Uint8Array) }))
  }
  return scene
}

/** Tokens that light up with one. @returns {number[]} */
export const together = (scene, i) => (scene.unitOf[i] ?? null) === null ? [i] : scene.units[scene.unitOf[i]]

/** The weights of a map, row by row. @param {Pick} pick @returns {Float32Array} */
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

/** Largest weight by size, and whether any is below 0. */
export function span(values) {
  let peak = 0, signed = false
  for (const value of values) {
    peak = Math.max(peak, Math.abs(value))
    signed ||= value < 0
  }
  return { peak: peak || 1, signed }
}

/** Places of tokens on the sides of the maps; those that are not shown are left out. @param {number[]} tokens */
export const places = (scene, tokens) => tokens.flatMap(i => scene.placeOf.get(i) ?? [])

/** What tokens take from every token, the mean of their rows; null where none of them is shown. @returns {Float32Array|null} */
export function row(scene, pick, tokens) {
  const at = places(scene, tokens), values = scene.maps && map(scene, pick), { side } = scene
  if (!values || !at.length) return null
  return Float32Array.from({ length: side }, (_, c) => at.reduce((sum, r) => sum + values[r * side + c], 0) / at.length)
}

/** What every token takes from some, the sum of their columns. @returns {Float32Array|null} */
export function column(scene, pick, tokens) {
  const at = places(scene, tokens), values = scene.maps && map(scene, pick), { side } = scene
  if (!values || !at.length) return null
  return Float32Array.from({ length: side }, (_, r) => at.reduce((sum, c) => sum + values[r * side + c], 0))
}

/** How much attention, by size, each head gives some tokens, in multiples of an even share; layers by heads. @returns {number[][]|null} */
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

/** Probability of the answer whose log-odds fall by so much. */
export const fallen = (scene, fall) => 1 / (1 + Math.exp(fall - scene.odds))

/** Probability of the answer without a token and those that go with it; null where that was not asked. */
export function without(scene, i) {
  const u = scene.unitOf[i] ?? null
  return u === null || !scene.falls || scene.falls[u] === null ? null : fallen(scene, scene.falls[u])
}

/** The unit that supports the answer most, by its first token; the first token where nothing was asked. */
export function leading({ falls, units }) {
  if (!falls || !units.length) return 0
  return units[falls.reduce((best, fall, u) => (fall > falls[best] ? u : best), 0)][0]
}

/** Places of the largest values, by size, largest first. @param {ArrayLike<number>} values */
export const largest = (values, count) => [...values.keys()].sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, count)
