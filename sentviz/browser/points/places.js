// Positions of points: now (of a view), place (of one point), spots (all points on the screen), fits (views of each layer), follow (moves the camera).

import { ease, mix, moment } from "../kit/maths.js"
import { fitting } from "../kit/camera.js"

const EDGE = 26 // margin around all points in pixels

/** Return the layers before and after the present time, as indices of available layers, and the eased fraction between them. */
export const now = ({ scene, time }) => moment(time - scene.first, scene.last - scene.first)

/** Return the present position of point i. */
export function place(view, i) {
  const { scene: { dims, n, places }, before, arrived } = view, [from, to, part] = now(view)
  return Array.from({ length: dims }, (_, c) => {
    const at = mix(places[(from * n + i) * dims + c], places[(to * n + i) * dims + c], part)
    return before ? mix(before[i * dims + c], at, ease(arrived)) : at
  })
}

/** Return the present pixels of every point, (n, 2), and set its nearness to the viewer in space (view.near, -1..1); computed only after a move. */
export function spots(view) {
  const { scene: { mark, n, dims, places }, camera, before, arrived, time } = view
  const key = [mark, time, arrived, camera.key].join()
  if (view.spotted === key) return view.spots
  const [from, to, part] = now(view), size = n * dims, come = ease(arrived)
  const sized = (array, length) => (array?.length === length ? array : new Float32Array(length))
  const at = (view.at = sized(view.at, size)), [a, b] = [from * size, to * size]
  for (let k = 0; k < size; k++) {
    const here = places[a + k] + (places[b + k] - places[a + k]) * part
    at[k] = before ? before[k] + (here - before[k]) * come : here
  }
  view.near = dims === 2 ? null : sized(view.near, n)
  view.spotted = key
  return (view.spots = camera.project(at, n, sized(view.spots, 2 * n), view.near, camera.reach))
}

/** Return, for each available layer, the box and the scale that show all its points and the star, from any angle.
 * @returns {{low: number[], high: number[], reach: number, scale: number}[]} `reach`: distance of the farthest point from the middle */
export function fits({ dims, places, n, star, first, last }, width, height) {
  return Array.from({ length: last - first + 1 }, (_, k) => {
    const low = Array(dims).fill(Infinity), high = Array(dims).fill(-Infinity), [start, end] = [k * n * dims, (k + 1) * n * dims]
    const shone = star?.places[k + first]
    const take = (value, c) => {
      if (value < low[c]) low[c] = value
      if (value > high[c]) high[c] = value
    }
    for (let i = start; i < end; i++) take(places[i], i % dims)
    shone?.forEach(take)
    const sides = low.map((value, c) => Math.max(high[c] - value, 1e-6))
    if (dims === 2) return { low, high, reach: 1, scale: fitting([width - 2 * EDGE, height - 2 * EDGE], sides) }
    const far = at => Math.hypot(...low.map((value, c) => at(c) - (value + high[c]) / 2))
    let reach = shone ? Math.max(far(c => shone[c]), 1e-6) : 1e-6
    for (let i = start; i < end; i += dims) reach = Math.max(reach, far(c => places[i + c]))
    return { low, high, reach, scale: fitting([0.5 * Math.min(width, height) - EDGE], [reach]) }
  })
}

/** Return the height of a picture in which the points fill its width, in pixels; at most three quarters of the width. */
export function tall(scene, width) {
  const most = width * 0.74
  if (scene.dims !== 2) return most
  scene.ratio ??= Math.max(...fits(scene, width, most).map(({ low, high }) => (high[1] - low[1]) / Math.max(high[0] - low[0], 1e-6)))
  return Math.min(most, scene.ratio * (width - 2 * EDGE) + 2 * EDGE)
}

/** Let the camera follow the points from layer to layer until the visitor moves it. */
export function follow(view) {
  const { camera, fits } = view, [from, to, part] = now(view)
  const [low, high] = ["low", "high"].map(name => fits[from][name].map((value, c) => mix(value, fits[to][name][c], part)))
  const scale = Math.exp(mix(Math.log(fits[from].scale), Math.log(fits[to].scale), part))
  Object.assign(camera, { box: [low, high], reach: mix(fits[from].reach, fits[to].reach, part), fitted: scale })
  if (camera.own) return
  const middle = low.map((value, c) => (value + high[c]) / 2)
  Object.assign(camera, low.length === 3 ? { pivot: middle, x: 0, y: 0, scale } : { x: middle[0], y: middle[1], scale })
}
