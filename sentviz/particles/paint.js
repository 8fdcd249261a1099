// What moves on the canvas: tokens, leaders, the mean, their names. Words are drawn as text, never as markup.

function paint(view) {
  const { canvas, scene } = view
  const ratio = window.devicePixelRatio || 1
  const pen = canvas.getContext("2d", { alpha: false })
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.font = view.font
  locate(view)
  pen.globalAlpha = 1
  pen.drawImage(backdrop(view, ratio), 0, 0, view.width, view.height)
  if (view.shows.hull) outline(pen, view)
  if (view.shows.trails && !view.before) {
    const [layer] = moment(scene, view.time)
    walk(pen, view, i => stand(view, layer, i), i => [view.flat[2 * i], view.flat[2 * i + 1]], 0.34)
  }
  pull(pen, view)
  tokens(pen, view)
  if (scene.means) mean(pen, view)
  names(pen, view)
}

/** Where every token is now, in pixels; while another scene takes this one's place, on its way there. */
function locate(view) {
  const { scene, camera, now, flat, near } = view
  between(scene, scene.positions, scene.count, view.time, now)
  if (view.before) {
    const part = 1 - ease(view.arrived)
    for (let i = 0; i < now.length; i++) now[i] += (view.before[i] - now[i]) * part
  }
  for (let i = 0; i < scene.count; i++) {
    const point = seen(scene, camera, now, i)
    ;[flat[2 * i], flat[2 * i + 1]] = pixel(camera, point)
    near[i] = point[2]
  }
}

/** The convex hull of the tokens as they are now. */
function outline(pen, { scene, flat, look }) {
  const around = hull(flat, scene.count)
  pen.beginPath()
  for (const i of around) pen.lineTo(flat[2 * i], flat[2 * i + 1])
  pen.closePath()
  pen.fillStyle = pen.strokeStyle = look.accent
  pen.globalAlpha = 0.05
  pen.fill()
  pen.globalAlpha = 0.5
  pen.lineWidth = 1
  pen.stroke()
}

/** From the token pointed at to a member of its C_i. */
function pull(pen, view) {
  const { scene, flat, look } = view
  if (!scene.toward || !scene.layers) return
  const layer = Math.min(Math.floor(view.time), scene.layers - 1)
  for (const i of new Set([view.hovered, view.chosen])) {
    if (i === null) continue
    const j = scene.toward[layer * scene.count + i]
    if (j < 0 || j === i) continue
    const [x, y, u, v] = [flat[2 * i], flat[2 * i + 1], flat[2 * j], flat[2 * j + 1]]
    const long = Math.hypot(u - x, v - y)
    if (long < 14) continue
    const [dx, dy] = [(u - x) / long, (v - y) / long]
    const [hx, hy] = [u - dx * 9, v - dy * 9]
    pen.globalAlpha = 0.95
    pen.strokeStyle = pen.fillStyle = look.accent
    pen.lineWidth = 2
    pen.beginPath()
    pen.moveTo(x, y)
    pen.lineTo(hx - dx * 6, hy - dy * 6)
    pen.stroke()
    pen.beginPath()
    pen.moveTo(hx, hy)
    pen.lineTo(hx - dx * 9 - dy * 5, hy - dy * 9 + dx * 5)
    pen.lineTo(hx - dx * 9 + dy * 5, hy - dy * 9 - dx * 5)
    pen.fill()
  }
}

/** One picture that holds a token in each of the colours, side by side; its cells are whole pixels wide. */
function atlas(view, radius) {
  const { look, scene } = view
  const colours = scene.decision ? look.shades : look.lines
  const ratio = window.devicePixelRatio || 1
  const key = [radius, view.version, ratio].join()
  if (view.atlas?.key === key) return view.atlas
  const side = Math.ceil((2 * radius + 3) * ratio)
  const canvas = document.createElement("canvas")
  canvas.width = side * colours.length
  canvas.height = side
  const pen = canvas.getContext("2d")
  for (const [i, colour] of colours.entries()) {
    pen.beginPath()
    pen.arc((i + 0.5) * side, side / 2, radius * ratio, 0, 2 * Math.PI)
    pen.globalAlpha = 1
    pen.fillStyle = colour
    pen.fill()
    pen.globalAlpha = 0.7
    pen.lineWidth = (radius > 3 ? 1 : 0.6) * ratio
    pen.strokeStyle = look.ink
    pen.stroke()
  }
  view.atlas = { key, canvas, side, ratio }
  return view.atlas
}

/** A token's colour: the decoder's probability where it stands, or the place where it ends. */
function colourOf({ scene, look, now }, i) {
  if (!scene.decision) return scene.groups[i] % look.lines.length
  return Math.round(probability(scene, now[2 * i], now[2 * i + 1]) * SHADES)
}

function tokens(pen, view) {
  if (view.scene.count > 700 && !view.scene.deep) specks(pen, view)
  else discs(pen, view)
  for (const [i, since] of view.scene.since) diamond(pen, view, i, since <= view.time + 1e-6)
  for (const i of view.scene.pinned) ring(pen, view, i, 11, [2, 3])
  if (view.chosen !== null) ring(pen, view, view.chosen, 12, [])
  if (view.hovered !== null && view.hovered !== view.chosen) ring(pen, view, view.hovered, 10, [])
}

/** Very many tokens: two bars of whole pixels each, grouped by colour. */
function specks(pen, view) {
  const { scene, flat, lit, look } = view
  const colours = scene.decision ? look.specks : look.lines
  const groups = colours.map(() => [])
  for (let i = 0; i < scene.count; i++) if (!scene.since.has(i)) groups[colourOf(view, i)].push(i)
  const ratio = window.devicePixelRatio || 1
  const [long, short] = [Math.round(5 * ratio), Math.round(3 * ratio)]
  pen.setTransform(1, 0, 0, 1, 0, 0)
  for (const bright of lit.size ? [false, true] : [true]) {
    pen.globalAlpha = bright ? 0.8 : 0.13
    for (const [colour, group] of groups.entries()) {
      pen.fillStyle = colours[colour]
      for (const i of group) {
        if (lit.size && lit.has(i) !== bright) continue
        const [x, y] = [Math.round(flat[2 * i] * ratio), Math.round(flat[2 * i + 1] * ratio)]
        pen.fillRect(x - (long >> 1), y - (short >> 1), long, short)
        pen.fillRect(x - (short >> 1), y - (long >> 1), short, long)
      }
    }
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
}

/** Tokens as discs out of the atlas; in space the near ones last, larger and stronger. */
function discs(pen, view) {
  const { scene, flat, lit, near } = view
  const radius = scene.count <= 200 ? 4.5 : scene.count <= 700 ? 3.4 : 2.4
  const faint = scene.count <= 200 ? 0.85 : 0.75
  const order = scene.deep ? [...Array(scene.count).keys()].sort((a, b) => near[a] - near[b]) : null
  const { canvas, side, ratio } = atlas(view, radius)
  pen.setTransform(1, 0, 0, 1, 0, 0) // whole pixels: much faster to put
  pen.imageSmoothingEnabled = scene.deep
  const front = scene.deep ? near.reduce((most, z) => Math.max(most, Math.abs(z)), 1e-9) : 1
  for (let n = 0; n < scene.count; n++) {
    const i = order ? order[n] : n
    if (scene.since.has(i)) continue
    const depth = scene.deep ? 0.72 + 0.28 * (near[i] / front) : 1
    pen.globalAlpha = (lit.size && !lit.has(i) ? 0.13 : faint) * (scene.deep ? 0.45 + 0.55 * depth : 1)
    const wide = side * depth, cell = colourOf(view, i) * side
    const [x, y] = [Math.round(flat[2 * i] * ratio - wide / 2), Math.round(flat[2 * i + 1] * ratio - wide / 2)]
    pen.drawImage(canvas, cell, 0, side, side, x, y, wide, wide)
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.imageSmoothingEnabled = true
}

/** A leader: a diamond, hollow until the layer at which it becomes one. */
function diamond(pen, view, i, leads) {
  const { flat, look, lit } = view
  const [x, y] = [flat[2 * i], flat[2 * i + 1]]
  const size = view.scene.count <= 200 ? 8.1 : 7
  pen.globalAlpha = lit.size && !lit.has(i) ? 0.25 : 1
  pen.beginPath()
  pen.moveTo(x, y - size)
  pen.lineTo(x + size, y)
  pen.lineTo(x, y + size)
  pen.lineTo(x - size, y)
  pen.closePath()
  pen.lineJoin = "miter"
  pen.lineWidth = 4
  pen.strokeStyle = look.ground
  pen.stroke()
  pen.fillStyle = leads ? (view.scene.decision ? look.shades : look.lines)[colourOf(view, i)] : look.ground
  pen.fill()
  pen.lineWidth = 1.7
  pen.strokeStyle = look.ink
  pen.stroke()
}

function ring(pen, { flat, look }, i, radius, dash) {
  pen.globalAlpha = 1
  pen.strokeStyle = look.ink
  pen.lineWidth = 1.6
  pen.setLineDash(dash)
  pen.beginPath()
  pen.arc(flat[2 * i], flat[2 * i + 1], radius, 0, 2 * Math.PI)
  pen.stroke()
  pen.setLineDash([])
}

/** The mean token: its way so far, a dot a layer, and what the decoder says of it. */
function mean(pen, view) {
  const { scene, camera, look } = view
  const at = view.mean = meanAt(view)
  const [x, y] = pixel(camera, at)
  const [layer] = moment(scene, view.time)
  const way = [...scene.means.slice(0, layer + 1), at].map(point => pixel(camera, point))
  pen.globalAlpha = 0.9
  pen.strokeStyle = pen.fillStyle = look.ink
  pen.lineWidth = 1.6
  pen.beginPath()
  for (const point of way) pen.lineTo(...point)
  pen.stroke()
  for (const [u, v] of way.slice(0, -1)) {
    pen.beginPath()
    pen.arc(u, v, 1.8, 0, 2 * Math.PI)
    pen.fill()
  }
  pen.globalAlpha = 1
  pen.beginPath()
  pen.arc(x, y, 8, 0, 2 * Math.PI)
  pen.fillStyle = look.ground
  pen.fill()
  pen.lineWidth = 2
  pen.stroke()
  pen.beginPath()
  for (const [dx, dy] of [[8, 0], [0, 8]]) pen.moveTo(x - dx, y - dy), pen.lineTo(x + dx, y + dy)
  pen.stroke()
}

function meanAt({ scene, time }) {
  const [layer, part] = moment(scene, time)
  const [from, to] = [scene.means[layer], scene.means[Math.min(layer + 1, scene.layers)]]
  return [0, 1].map(c => from[c] + (to[c] - from[c]) * part)
}

/** The probability of the second class under way: exact at every layer. */
function meanProbability({ scene, time }) {
  const [layer, part] = moment(scene, time)
  const logit = p => Math.log(Math.min(Math.max(p, 1e-9), 1 - 1e-9) / Math.min(Math.max(1 - p, 1e-9), 1 - 1e-9))
  const [from, to] = [scene.probabilities[layer], scene.probabilities[Math.min(layer + 1, scene.layers)]].map(logit)
  return 1 / (1 + Math.exp(-(from + (to - from) * part)))
}

/** "positive 93%" */
function verdict(scene, p) {
  return `${scene.labels[p >= 0.5 ? 1 : 0]} ${(100 * Math.max(p, 1 - p)).toFixed(0)}%`
}

/** Labels that do not touch: the mean, what is pointed at, leaders, then as many words as find room; those shown stay. */
function names(pen, view) {
  const { scene, flat, look, lit } = view
  const boxes = []
  const fresh = new Map()
  const put = (key, x, y, text, strong, alpha, gap) => {
    const font = strong ? look.strong : view.font
    const wide = measured(view, pen, text, font), high = 16
    const sides = [[gap, -8], [-gap - wide, -8], [-wide / 2, -gap - high], [-wide / 2, gap], [gap, -gap - 12], [gap, gap - 4], [-gap - wide, -gap - 12], [-gap - wide, gap - 4]]
    const before = view.sides.get(key)
    const tries = before === undefined ? sides.keys() : [before, ...sides.keys()]
    for (const side of tries) {
      const box = [x + sides[side][0] - 2, y + sides[side][1], wide + 4, high]
      if (box[0] < 1 || box[1] < 1 || box[0] + box[2] > view.width - 1 || box[1] + box[3] > view.height - 1) continue
      if (boxes.some(b => box[0] < b[0] + b[2] && b[0] < box[0] + box[2] && box[1] < b[1] + b[3] && b[1] < box[1] + box[3])) continue
      boxes.push(box)
      const strength = Math.min((view.strength.get(key) || 0) + (view.still ? 1 : 0.12), 1)
      fresh.set(key, [side, strength])
      pen.font = font
      pen.textAlign = "left"
      pen.textBaseline = "middle"
      pen.lineJoin = "round"
      pen.globalAlpha = alpha * strength
      pen.lineWidth = 3.5
      pen.strokeStyle = look.ground
      pen.strokeText(text, box[0] + 2, y + sides[side][1] + high / 2)
      pen.fillStyle = look.ink
      pen.fillText(text, box[0] + 2, y + sides[side][1] + high / 2)
      return
    }
  }
  for (const i of scene.since.keys()) boxes.push([flat[2 * i] - 7, flat[2 * i + 1] - 7, 14, 14])
  if (scene.means) {
    const [x, y] = pixel(view.camera, view.mean)
    boxes.push([x - 9, y - 9, 18, 18])
    put("mean", x, y, `mean: ${verdict(scene, meanProbability(view))}`, true, 1, 13)
  }
  const layer = Math.round(view.time)
  const first = [view.hovered, view.chosen].filter(i => i !== null)
  const leaders = [...scene.leaders].sort((a, b) => scene.sizes[scene.layers].get(b) - scene.sizes[scene.layers].get(a))
  const seenWords = new Set()
  for (const i of [...first, ...leaders]) {
    if (seenWords.has(i)) continue
    seenWords.add(i)
    const size = scene.since.has(i) ? scene.sizes[layer].get(i) : 1
    put(i, flat[2 * i], flat[2 * i + 1], size > 1 ? `${cut(scene.words[i])} ×${size}` : cut(scene.words[i]), true, lit.size && !lit.has(i) ? 0.3 : 1, 10)
  }
  if (view.shows.names && scene.named && scene.count <= 700) {
    const stay = [...view.sides.keys()].filter(key => key !== "mean" && !seenWords.has(key))
    for (const i of new Set([...stay, ...scene.order])) {
      if (boxes.length > 90) break
      if (!seenWords.has(i) && i < scene.count) put(i, flat[2 * i], flat[2 * i + 1], cut(scene.words[i]), false, lit.size && !lit.has(i) ? 0.15 : 0.8, 7)
    }
  }
  view.fading = [...fresh.values()].some(([, strength]) => strength < 1)
  view.sides = new Map([...fresh].map(([key, [side]]) => [key, side]))
  view.strength = new Map([...fresh].map(([key, [, strength]]) => [key, strength]))
}

function cut(word) {
  return word.length <= 24 ? word : Array.from(word).slice(0, 23).join("") + "…"
}

function measured(view, pen, text, font) {
  const key = font + text
  let wide = view.widths.get(key)
  if (wide === undefined) {
    pen.font = font
    wide = pen.measureText(text).width
    if (view.widths.size > 4000) view.widths.clear()
    view.widths.set(key, wide)
  }
  return wide
}
