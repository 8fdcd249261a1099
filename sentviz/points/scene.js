// The points as they came (sentviz.points.points_data).

/** Base64 of little-endian numbers; the same text gives the numbers that are there. */
function numbers(text, Kind, old, name) {
  if (old && old.texts[name] === text) return old[name]
  return new Kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer)
}

function read(data, old) {
  const packed = { places: Float32Array, of: Uint8Array, marks: Uint8Array, said: Int8Array, labels: Int8Array, sure: Uint8Array, values: Float32Array }
  const scene = { ...data, texts: Object.fromEntries(Object.keys(packed).map(name => [name, data[name]])) }
  for (const [name, Kind] of Object.entries(packed)) if (data[name] !== null) scene[name] = numbers(data[name], Kind, old, name)
  scene.marks = scene.marks.slice() // an outline changes them before Python does
  scene.last = data.layers.length - 1
  scene.first = data.layers.length - scene.places.length / (data.n * data.dims) // layers at hand, down from the last one
  scene.shuffled = old && old.n === data.n ? old.shuffled : shuffled(data.n)
  return scene
}

const WRONG = 1, FADED = 2 // bits of a mark

/** Places in an order without meaning, always the same: no class covers another because it comes later in the file. */
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

function channels(colour) {
  return [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16))
}

/** Colour and symbol of every point. */
function looks({ n, of, groups, scale, values }) {
  const tint = new Uint8Array(3 * n), symbol = new Uint8Array(n)
  const stops = scale && scale.stops.map(channels), colours = groups.map(group => group.colour && channels(group.colour))
  for (let i = 0; i < n; i++) {
    const group = groups[of[i]]
    symbol[i] = group ? group.symbol : 0
    if (!scale) tint.set(group ? colours[of[i]] : [128, 128, 128], 3 * i)
    else {
      const at = Math.min(Math.max(values[i], 0), 1) * (stops.length - 1)
      const k = Math.min(Math.floor(at), stops.length - 2)
      for (let c = 0; c < 3; c++) tint[3 * i + c] = stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (at - k)
    }
  }
  return [tint, symbol]
}

/** The rows to draw, in passes: faded ones, the others, and a ring around wrong ones. */
function passes({ scene, hidden }) {
  const { marks, of, look, size, shuffled } = scene
  const off = Uint8Array.from({ length: 256 }, (_, group) => hidden.has(group)), rings = !hidden.has("wrong")
  const ring = [...channels(look.ink).map(c => c / 255), 1]
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
