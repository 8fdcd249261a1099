// How points are looked at: where each is now, where that lies on the screen, and what can be read at the edges.

const YAW = -0.6, PITCH = 0.42 // how three dimensions are looked at first
const EDGE = 26 // pixels around all points

/** Slow at both ends of a layer, so that each layer is a beat. */
function ease(part) {
  return part * part * (3 - 2 * part)
}

/** The layers between which the points are, as places among those at hand, and the eased part of the way. */
function moment({ scene, time }) {
  const from = Math.min(Math.floor(time), scene.last) - scene.first
  return [from, Math.min(from + 1, scene.last - scene.first), ease(time - Math.floor(time))]
}

/** Where point i is now. */
function place(view, i) {
  const { scene, before, arrived } = view
  const { dims, n, places } = scene
  const [from, to, part] = moment(view)
  return Array.from({ length: dims }, (_, c) => {
    const a = places[(from * n + i) * dims + c], b = places[(to * n + i) * dims + c]
    const at = a + (b - a) * part
    return before ? before[i * dims + c] + (at - before[i * dims + c]) * ease(arrived) : at
  })
}

/** Rows of the rotation: right, up, towards the eye. Pictures of two dimensions are not turned. */
function turned({ yaw, pitch }, dims) {
  if (dims === 2) return [1, 0, 0, 0, 1, 0, 0, 0, 1]
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)]
  return [cy, -sy, 0, sy * sp, cy * sp, cp, -sy * cp, -cy * cp, sp]
}

/** A place -> pixels, and how near the eye it is. */
function pixel({ scene, camera, width, height, turn }, at) {
  const d = at.map((value, c) => value - camera.centre[c])
  const seen = [0, 1, 2].map(row => d.reduce((sum, value, c) => sum + value * turn[3 * row + c], 0))
  return [width / 2 + seen[0] * camera.scale, height / 2 - seen[1] * camera.scale, scene.dims === 3 ? seen[2] : 0]
}

/** Pixels of every point now, (n, 2), and in space how near the eye each is (view.near, -1..1); made anew only when something moved. */
function spots(view) {
  const { scene, camera, before, arrived, time, turn, width, height } = view
  const key = [scene.mark, time, arrived, width, height, camera.scale, ...camera.centre, ...turn].join()
  if (view.spotted === key) return view.spots
  const { n, dims, places } = scene, [from, to, part] = moment(view), come = ease(arrived)
  const found = view.spots?.length === 2 * n ? view.spots : new Float32Array(2 * n)
  view.near = dims === 2 ? null : view.near?.length === n ? view.near : new Float32Array(n)
  for (let i = 0; i < n; i++) {
    let x = 0, y = 0, z = 0
    for (let c = 0; c < dims; c++) {
      const a = places[(from * n + i) * dims + c]
      let at = a + (places[(to * n + i) * dims + c] - a) * part
      if (before) at = before[i * dims + c] + (at - before[i * dims + c]) * come
      x += (at - camera.centre[c]) * turn[c]
      y += (at - camera.centre[c]) * turn[3 + c]
      z += (at - camera.centre[c]) * turn[6 + c]
    }
    if (view.near) view.near[i] = z / camera.reach
    found[2 * i] = width / 2 + x * camera.scale
    found[2 * i + 1] = height / 2 - y * camera.scale
  }
  view.spotted = key
  return (view.spots = found)
}

/** Pixels -> a place of the plane. */
function back({ camera, width, height }, x, y) {
  return [camera.centre[0] + (x - width / 2) / camera.scale, camera.centre[1] - (y - height / 2) / camera.scale]
}

/** The box and the scale that show all points of each layer, and the star. */
function measure(view) {
  const { scene, width, height } = view
  const { dims, places, n } = scene
  view.fits = Array.from({ length: scene.last - scene.first + 1 }, (_, k) => {
    const low = Array(dims).fill(Infinity), high = Array(dims).fill(-Infinity)
    const take = (value, c) => {
      if (value < low[c]) low[c] = value
      if (value > high[c]) high[c] = value
    }
    for (let i = k * n * dims; i < (k + 1) * n * dims; i++) take(places[i], i % dims)
    scene.star?.places[k + scene.first]?.forEach(take)
    const sides = low.map((value, c) => Math.max(high[c] - value, 1e-6))
    const flat = Math.min((width - 2 * EDGE) / sides[0], (height - 2 * EDGE) / sides[1])
    if (dims === 2) return { low, high, reach: 1, scale: flat }
    const far = at => Math.hypot(...low.map((value, c) => at(c) - (value + high[c]) / 2))
    let reach = 1e-6 // of the farthest point from the middle: turned as one likes, none leaves the picture
    for (let i = k * n * dims; i < (k + 1) * n * dims; i += dims) reach = Math.max(reach, far(c => places[i + c]))
    const star = scene.star?.places[k + scene.first]
    if (star) reach = Math.max(reach, far(c => star[c]))
    return { low, high, reach, scale: (0.5 * Math.min(width, height) - EDGE) / reach }
  })
}

/** The camera follows the points from layer to layer until the visitor moves it. */
function follow(view) {
  const { camera, fits } = view
  const [from, to, part] = moment(view)
  const mix = (a, b) => a + (b - a) * part
  const both = (name, c) => mix(fits[from][name][c], fits[to][name][c])
  const axes = fits[0].low.map((_, c) => c)
  camera.box = [axes.map(c => both("low", c)), axes.map(c => both("high", c))]
  camera.reach = mix(fits[from].reach, fits[to].reach)
  camera.fitted = Math.exp(mix(Math.log(fits[from].scale), Math.log(fits[to].scale)))
  if (!camera.own) Object.assign(camera, { centre: axes.map(c => (camera.box[0][c] + camera.box[1][c]) / 2), scale: camera.fitted })
  view.turn = turned(camera, axes.length)
}

/** Everything again, as it was looked at first. */
function whole(view) {
  Object.assign(view.camera, { own: false, yaw: YAW, pitch: PITCH })
  follow(view)
}

function zoom(view, factor, x = view.width / 2, y = view.height / 2) {
  const { camera, scene } = view
  camera.own = true
  const scale = Math.min(Math.max(camera.scale * factor, camera.fitted * 0.5), camera.fitted * 400)
  if (scene.dims === 2) {
    const [a, b] = back(view, x, y)
    camera.scale = scale
    const [c, d] = back(view, x, y)
    camera.centre = [camera.centre[0] + a - c, camera.centre[1] + b - d]
  } else camera.scale = scale
}

/** Round numbers about 90 pixels apart, within a side of the picture. */
function ticks({ camera, width, height }, c) {
  const step = [1, 2, 5, 10].map(k => k * 10 ** Math.floor(Math.log10(90 / camera.scale))).find(k => k * camera.scale >= 70)
  const half = (c ? height : width) / 2 / camera.scale
  const first = Math.ceil((camera.centre[c] - half) / step), last = Math.floor((camera.centre[c] + half) / step)
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9))
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, k) => [(first + k) * step, ((first + k) * step).toFixed(digits).replace("-", "−")])
}

/** Whether x, y lies inside a closed outline, by the even-odd rule. */
function inside(x, y, corners) {
  let odd = false
  for (let i = 0, before = corners.at(-1); i < corners.length; before = corners[i++]) {
    const corner = corners[i]
    if (corner[1] > y !== before[1] > y && x < corner[0] + ((y - corner[1]) * (before[0] - corner[0])) / (before[1] - corner[1])) odd = !odd
  }
  return odd
}
