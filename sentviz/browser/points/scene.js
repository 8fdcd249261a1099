// The points' data (sentviz.browser.points.points_data): read, looks (colours and symbols), passes (order of drawing), WRONG and FADED.

import { gradient, rgb } from "../kit/colour.js"
import { numbers } from "../kit/maths.js"

export const WRONG = 1 // bits of a mark
export const FADED = 2

const PACKED = { places: Float32Array, of: Uint8Array, marks: Uint8Array, said: Int8Array, labels: Int8Array, sure: Uint8Array, values: Float32Array }

/** Decode the data; equal texts reuse the numbers of the scene before. */
export function read(data, old) {
  const scene = { ...data, texts: Object.fromEntries(Object.keys(PACKED).map(name => [name, data[name]])) }
  for (const [name, Kind] of Object.entries(PACKED)) {
    if (data[name] !== null) scene[name] = old?.texts[name] === data[name] ? old[name] : numbers(data[name], Kind)
  }
  scene.marks = scene.marks.slice() // an outline changes the copy before Python replies
  scene.last = data.layers.length - 1
  scene.first = data.layers.length - scene.places.length / (data.n * data.dims) // first available layer; all later ones are available
  scene.shuffled = old && old.n === data.n ? old.shuffled : shuffled(data.n)
  return scene
}

/** Return a fixed pseudo-random order, so that no class covers another because it comes later in the file. */
function shuffled(n) {
  const order = Uint32Array.from({ length: n }, (_, i) => i)
  let seed = 1
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    const j = Math.floor((seed / 2 ** 32) * (i + 1))
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}

/** Return colour and symbol of every point. */
export function looks({ n, of, groups, scale, values }) {
  const tint = new Uint8Array(3 * n), symbol = new Uint8Array(n)
  const at = scale && gradient(scale.stops), own = groups.map(group => group.colour && rgb(group.colour))
  for (let i = 0; i < n; i++) {
    symbol[i] = groups[of[i]]?.symbol ?? 0
    tint.set(at ? at(values[i]) : own[of[i]] ?? [128, 128, 128], 3 * i)
  }
  return [tint, symbol]
}

/** Return the rows to draw, in passes: faded ones, the others, and a ring around wrong ones. */
export function passes({ scene, hidden }) {
  const { marks, of, look, size, shuffled } = scene
  const off = Uint8Array.from({ length: 256 }, (_, group) => hidden.has(group)), rings = !hidden.has("wrong")
  const ring = [...rgb(look.ink).map(c => c / 255), 1]
  const parts = [
    [i => marks[i] & FADED, { alpha: scene.faint, size }],
    [i => !(marks[i] & FADED), { alpha: scene.strength, size }],
    [i => rings && marks[i] === WRONG, { alpha: scene.ring[1], size: size + scene.ring[0], ring }],
  ]
  const order = new Uint32Array(2 * scene.n)
  let end = 0
  const found = parts.map(([taken, how]) => {
    const start = end
    for (const i of shuffled) if (!off[of[i]] && taken(i)) order[end++] = i
    return { ...how, start, count: end - start }
  })
  return [order, found]
}
