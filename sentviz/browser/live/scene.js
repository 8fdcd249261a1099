// The outputs of a graph as the data of the linked picture, as `canvas_data` of sentviz.browser.canvas makes them.

const SIDE = 64 // largest number of tokens of a map

/** Return probabilities of logits at a temperature. @param {number[]} logits */
export function softmax(logits, temperature = 1) {
  const top = Math.max(...logits), shares = logits.map(z => Math.exp((z - top) / temperature)), sum = shares.reduce((a, b) => a + b, 0)
  return shares.map(share => share / sum)
}

/** Return the log-odds of a class against all others. @param {number[]} logits */
export function logOdds(logits, k, temperature = 1) {
  const others = logits.filter((_, j) => j !== k).map(z => z / temperature), top = Math.max(...others)
  return logits[k] / temperature - top - Math.log(others.reduce((sum, z) => sum + Math.exp(z - top), 0))
}

/** Return a score's position on the colour scale, -1 to 1. */
export const anchored = (value, { full, knee }) => Math.sign(value) * Math.min(1, Math.log1p(Math.abs(value) / knee) / Math.log1p(full / knee))

/** Return maps with 8 bits for each weight. @param {Float32Array} values */
export function pack(values) {
  const peak = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0), signed = values.some(value => value < 0)
  const scale = peak / (signed ? 127 : 255) ** 2, codes = new (signed ? Int8Array : Uint8Array)(values.length)
  if (scale) for (const [k, value] of values.entries()) codes[k] = Math.sign(value) * Math.round(Math.sqrt(Math.abs(value) / scale))
  return { codes, scale, signed }
}

/** Return the places of the tokens that a map shows: all, or those that receive most attention; and the share of the others.
 * @param {Float32Array} maps all maps of n x n weights one after another */
export function shownOf(maps, n) {
  if (n <= SIDE) return { shown: Array.from({ length: n }, (_, k) => k), hidden: 0 }
  const received = new Float64Array(n)
  for (const [k, value] of maps.entries()) received[k % n] += Math.abs(value)
  const shown = [...received.keys()].sort((a, b) => received[b] - received[a]).slice(0, SIDE).sort((a, b) => a - b)
  const sum = received.reduce((a, b) => a + b, 0)
  return { shown, hidden: sum ? 1 - shown.reduce((part, k) => part + received[k], 0) / sum : 0 }
}

/** Return the weights between some of n tokens, of all maps. */
function cut(maps, n, shown) {
  if (shown.length === n) return maps
  const count = maps.length / n ** 2, values = new Float32Array(count * shown.length ** 2)
  let k = 0
  for (let map = 0; map < count; map++) for (const r of shown) for (const c of shown) values[k++] = maps[map * n * n + r * n + c]
  return values
}

/** Return the maps of each part: the effective ones, then each component. @param {Float32Array} components (L, C, H, n, n) */
function partsOf({ attention, components }, { layers, heads, parts }, n) {
  const all = [attention], size = heads * n * n
  for (let part = 0; part < parts - 1; part++) {
    const values = new Float32Array(attention.length)
    for (let layer = 0; layer < layers; layer++) values.set(components.subarray((layer * (parts - 1) + part) * size, (layer * (parts - 1) + part + 1) * size), layer * size)
    all.push(values)
  }
  return all
}

/** Return the data of the picture.
 * @param card what does not depend on the text: labels, calibration, the axes and names of the maps, palettes, tour, scale
 * @param reading the text as `readText` returns it
 * @param {{logits: number[], attention: Float32Array, components?: Float32Array, without: number[][]|null}} outputs `without`: logits without each unit
 */
export function sceneData(card, text, reading, outputs) {
  const { ids, tokens, units, specials } = reading, { logits, without } = outputs, n = ids.length
  const probabilities = softmax(logits, card.calibration), best = probabilities.indexOf(Math.max(...probabilities))
  const falls = without && without.map(row => row === null ? 0 : logOdds(logits, best) - logOdds(row, best)), scores = without && new Array(n).fill(0)
  if (falls) for (const [u, unit] of units.entries()) for (const k of unit) scores[k] = falls[u]
  const full = Math.max(0, ...(scores ?? []).map(Math.abs)) || card.full
  const { shown, hidden } = shownOf(outputs.attention, n)
  const codes = partsOf(outputs, { layers: card.layers.length, heads: card.heads.length, parts: card.parts.length }, n).map(part => pack(cut(part, n, shown)))
  return {
    ...card.view,
    text, mark: without ? text : `${text}\n`, title: "", tokens, units, specials, scores,
    tones: scores && scores.map(value => anchored(value, { full, knee: card.knee })),
    scale: scores && { title: card.title, low: card.low, high: card.high, full: Number(full.toPrecision(3)), unit: card.unit },
    falls: falls && falls.map(fall => fall / card.calibration),
    labels: card.labels, probabilities, best, aim: { name: card.labels[best], says: "the prediction", place: best }, odds: logOdds(logits, best, card.calibration),
    more: 0, padding: 0, unknown: [], second: 0, before: null, heads: null, off: [], acts: false, pinned: null,
    pick: { layer: card.layers.length - 1, head: -1, part: 0 },
    maps: { layers: card.layers, heads: card.heads, parts: card.parts, lambdas: card.lambdas, shown, names: shown.map(k => tokens[k]), hidden, codes },
  }
}
