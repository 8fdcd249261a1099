// The scene as it came (sentviz.particles.scene_data), and its geometry.

const YAW = -0.6, PITCH = 0.42 // how a scene of three dimensions is looked at first

/** Base64 of little-endian 32-bit numbers. */
function numbers(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer)
}

function read(data) {
  const scene = { ...data, count: data.words.length }
  scene.positions = numbers(data.positions, Float32Array) // (layers + 1, count, dimension)
  scene.groups = numbers(data.groups, Int32Array) // (count): where it ends
  scene.toward = data.toward && numbers(data.toward, Int32Array) // (layers, count): a member of C_i
  scene.since = new Map(data.leaders.map((token, i) => [token, data.since[i]]))
  scene.deep = data.dimension === 3
  scene.sizes = Array.from({ length: data.layers + 1 }, (_, layer) => crowd(scene, layer))
  scene.order = [...Array(scene.count).keys()].sort((a, b) => spread(scene, b) - spread(scene, a))
  return scene
}

/** Distance of a token's start from the origin: far words are named first. */
function spread({ positions, dimension }, i) {
  let sum = 0
  for (let c = 0; c < dimension; c++) sum += positions[i * dimension + c] ** 2
  return sum
}

/** How many tokens stand where each leader stands, after a layer. */
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

/** Slow at both ends of a layer, so that each layer is a beat. */
function ease(part) {
  return part * part * (3 - 2 * part)
}

/** Layer and eased part of the way to the next one. */
function moment(scene, time) {
  const layer = Math.min(Math.floor(time), Math.max(scene.layers - 1, 0))
  return [layer, scene.layers ? ease(time - layer) : 0]
}

/** Positions (rows, dimension) at a time, out of rows for every layer. */
function between(scene, rows, count, time, into) {
  const [layer, part] = moment(scene, time)
  const size = count * scene.dimension, from = layer * size, to = Math.min(layer + 1, scene.layers) * size
  for (let i = 0; i < size; i++) into[i] = rows[from + i] + (rows[to + i] - rows[from + i]) * part
  return into
}

/** A point as it is seen: right, up, and for three dimensions how near. */
function seen(scene, camera, rows, i) {
  if (!scene.deep) return [rows[2 * i], rows[2 * i + 1], 0]
  const [x, y, z] = [rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]]
  const right = x * Math.cos(camera.yaw) - y * Math.sin(camera.yaw)
  const away = x * Math.sin(camera.yaw) + y * Math.cos(camera.yaw)
  return [right, z * Math.cos(camera.pitch) + away * Math.sin(camera.pitch), z * Math.sin(camera.pitch) - away * Math.cos(camera.pitch)]
}

/** Right, up -> pixels. */
function pixel(camera, [right, up]) {
  return [camera.left + (right - camera.x) * camera.scale, camera.top - (up - camera.y) * camera.scale]
}

/** The camera that shows every layer, the mean and the origin. */
function fit(scene, width, height, camera) {
  const box = { low: [0, 0], high: [0, 0] }
  const take = point => {
    for (const c of [0, 1]) {
      box.low[c] = Math.min(box.low[c], point[c])
      box.high[c] = Math.max(box.high[c], point[c])
    }
  }
  if (scene.deep) {
    let reach = 0
    for (let i = 0; i < scene.count; i++) reach = Math.max(reach, spread(scene, i))
    reach = 0.85 * Math.sqrt(reach)
    take([-reach, -reach])
    take([reach, reach])
  } else {
    for (let i = 0; i < scene.positions.length / 2; i++) take([scene.positions[2 * i], scene.positions[2 * i + 1]])
    for (const mean of scene.means || []) take(mean)
  }
  const [wide, high] = [0, 1].map(c => Math.max(box.high[c] - box.low[c], 1e-9))
  const scale = Math.min((width - 150) / wide, (height - 84) / high)
  return Object.assign(camera, { scale, fitted: scale, x: (box.low[0] + box.high[0]) / 2, y: (box.low[1] + box.high[1]) / 2, left: width / 2, top: height / 2 })
}

/** Indices of the convex hull of points (x0, y0, x1, y1, ...), counter-clockwise on paper; Andrew's monotone chain. */
function hull(points, count) {
  const order = [...Array(count).keys()].sort((a, b) => points[2 * a] - points[2 * b] || points[2 * a + 1] - points[2 * b + 1])
  const turn = (o, a, b) =>
    (points[2 * a] - points[2 * o]) * (points[2 * b + 1] - points[2 * o + 1]) - (points[2 * a + 1] - points[2 * o + 1]) * (points[2 * b] - points[2 * o])
  const chain = along => {
    const kept = []
    for (const i of along) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), i) <= 0) kept.pop()
      kept.push(i)
    }
    return kept.slice(0, -1)
  }
  return count < 3 ? order : [...chain(order), ...chain(order.reverse())]
}

function channels(colour) {
  return [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16))
}

/** Colour of a position 0..1 on evenly spaced stops. */
function blend(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1)
  const i = Math.min(Math.floor(place), stops.length - 2)
  const [a, b] = [channels(stops[i]), channels(stops[i + 1])]
  return `rgb(${a.map((from, k) => Math.round(from + (b[k] - from) * (place - i))).join(" ")})`
}

/** The decoder's probability of the second class at a point of the plane. */
function probability({ decision: { w, b } }, x, y) {
  return 1 / (1 + Math.exp(-(w[0] * x + w[1] * y + b)))
}

/** A number for people, with a true minus. */
function shown(value, digits = 2) {
  return value.toFixed(digits).replace("-", "−")
}
