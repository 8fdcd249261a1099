// The scene's data (sentviz.browser.particles.scene_data): read, now, between, probability, verdict, fit (the camera that shows everything).

import { percent } from "../kit/format.js"
import { mix, moment, numbers } from "../kit/maths.js"

const MARGIN = [75, 42] // margin in pixels at the sides, and above and below

export function read(data) {
  const scene = { ...data, count: data.words.length }
  scene.positions = numbers(data.positions, Float32Array) // (layers + 1, count, dimension)
  scene.groups = numbers(data.groups, Int32Array) // (count): cluster after the last layer
  scene.toward = data.toward && numbers(data.toward, Int32Array) // (layers, count): a member of C_i
  scene.since = new Map(data.leaders.map((token, i) => [token, data.since[i]]))
  scene.deep = data.dimension === 3
  scene.sizes = Array.from({ length: data.layers + 1 }, (_, layer) => crowd(scene, layer))
  scene.order = [...Array(scene.count).keys()].sort((a, b) => spread(scene, b) - spread(scene, a))
  return scene
}

/** Return the distance of a token's start from the origin; far words get their names first. */
function spread({ positions, dimension }, i) {
  let sum = 0
  for (let c = 0; c < dimension; c++) sum += positions[i * dimension + c] ** 2
  return sum
}

/** Count the tokens at each leader after a layer. */
function crowd({ positions, dimension, count, leaders, near }, layer) {
  const at = (i, c) => positions[(layer * count + i) * dimension + c]
  const apart = (i, j) => Math.hypot(...[0, 1, 2].slice(0, dimension).map(c => at(i, c) - (j === null ? 0 : at(j, c))))
  let reach = 0
  for (let i = 0; i < count; i++) reach = Math.max(reach, apart(i, null))
  return new Map(leaders.map(leader => {
    let there = 0
    for (let i = 0; i < count; i++) there += apart(i, leader) <= near * reach
    return [leader, there]
  }))
}

/** Return the layers before and after the time of a view, and the eased fraction between them. */
export const now = ({ scene, time }) => moment(time, scene.layers)

/** Return the present positions, (count, dimension). */
export function between(view, into) {
  const { scene: { count, dimension, positions } } = view, [from, to, part] = now(view), size = count * dimension
  for (let i = 0; i < size; i++) into[i] = positions[from * size + i] + (positions[to * size + i] - positions[from * size + i]) * part
  return into
}

/** Return the camera that shows every layer, the mean and the origin. */
export function fit(scene, camera) {
  const { positions, means, count, deep } = scene
  const low = [0, 0], high = [0, 0]
  const take = (x, y) => {
    for (const [c, value] of [x, y].entries()) {
      low[c] = Math.min(low[c], value)
      high[c] = Math.max(high[c], value)
    }
  }
  if (deep) {
    let reach = 0
    for (let i = 0; i < count; i++) reach = Math.max(reach, spread(scene, i))
    reach = 0.85 * Math.sqrt(reach)
    take(-reach, -reach)
    take(reach, reach)
  } else {
    for (let i = 0; i < positions.length; i += 2) take(positions[i], positions[i + 1])
    for (const mean of means || []) take(...mean)
  }
  return camera.fit(low, high, MARGIN)
}

/** Return the decoder's probability of the second class at a point of the plane. */
export function probability({ decision: { w, b } }, x, y) {
  return 1 / (1 + Math.exp(-(w[0] * x + w[1] * y + b)))
}

/** Return the probability of the second class at the mean, interpolated between layers and exact at each of them. */
export function meanProbability(view) {
  const { scene: { probabilities } } = view, [from, to, part] = now(view)
  const logit = p => Math.log(Math.max(p, 1e-9) / Math.max(1 - p, 1e-9))
  return 1 / (1 + Math.exp(-mix(logit(probabilities[from]), logit(probabilities[to]), part)))
}

/** Return the prediction at a probability as text, for example "positive 93 %". */
export const verdict = ({ labels }, p) => `${labels[p >= 0.5 ? 1 : 0]} ${percent(Math.max(p, 1 - p))}`
