// Everything that moves on the canvas: paint draws tokens, leaders, the mean and names over the backdrop. Words are drawn as text, never as markup.

import { pixelRatio } from "../kit/canvas.js"
import { shorten } from "../kit/format.js"
import { hull, meets } from "../kit/geometry.js"
import { ease, mix } from "../kit/maths.js"
import { disc, ink, lines, path, say } from "../kit/pen.js"
import { SHADES, backdrop, stand, walk } from "./ground.js"
import { between, meanProbability, now, probability, verdict } from "./scene.js"

export function paint(view) {
  const { canvas, scene } = view
  const ratio = pixelRatio()
  const pen = canvas.getContext("2d", { alpha: false })
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.font = view.font
  locate(view)
  pen.globalAlpha = 1
  pen.drawImage(backdrop(view, ratio), 0, 0, view.width, view.height)
  if (view.shows.hull) outline(pen, view)
  if (view.shows.trails && !view.before) {
    const [layer] = now(view)
    walk(pen, view, stand(view, layer), view.flat, 0.34)
  }
  pull(pen, view)
  tokens(pen, view)
  if (scene.means) mean(pen, view)
  names(pen, view)
}

/** Return the present position of every token in pixels, also while a new scene replaces the old one. */
function locate(view) {
  const { scene, camera, places, flat, near, before } = view
  between(view, places)
  const part = 1 - ease(view.arrived)
  for (let i = 0; before && i < places.length; i++) places[i] += (before[i] - places[i]) * part
  camera.project(places, scene.count, flat, near)
}

/** Return the size of a token in pixels. */
const spot = ({ flat }, i) => [flat[2 * i], flat[2 * i + 1]]

/** Draw the convex hull of the present tokens. */
function outline(pen, view) {
  const { scene, flat, look } = view
  path(pen, hull(flat, scene.count).map(i => spot(view, i)), true)
  ink(pen, { fill: look.accent, alpha: 0.05 })
  ink(pen, { line: look.accent, alpha: 0.5 })
}

/** Draw an arrow from the token under the pointer to a member of its C_i. */
function pull(pen, view) {
  const { scene, look } = view
  if (!scene.toward || !scene.layers) return
  const layer = Math.min(Math.floor(view.time), scene.layers - 1)
  for (const i of new Set([view.hovered, view.chosen])) {
    const j = i === null ? -1 : scene.toward[layer * scene.count + i]
    if (j < 0 || j === i) continue
    const [[x, y], [u, v]] = [spot(view, i), spot(view, j)]
    const long = Math.hypot(u - x, v - y), [dx, dy] = [(u - x) / long, (v - y) / long]
    if (long < 14) continue
    const back = (far, aside) => [u - dx * far - dy * aside, v - dy * far + dx * aside]
    lines(pen, [[[x, y], back(15, 0)]])
    ink(pen, { line: look.accent, width: 2, alpha: 0.95 })
    path(pen, [back(9, 0), back(18, 5), back(18, -5)])
    ink(pen, { fill: look.accent, alpha: 0.95 })
  }
}

/** Return a picture with a token in each of the colours, side by side, in cells of integer width. */
function atlas(view, radius) {
  const { look, scene } = view
  const colours = scene.decision ? look.shades : look.lines
  const ratio = pixelRatio()
  const key = [radius, view.version, ratio].join()
  if (view.atlas?.key === key) return view.atlas
  const side = Math.ceil((2 * radius + 3) * ratio)
  const canvas = Object.assign(document.createElement("canvas"), { width: side * colours.length, height: side })
  const pen = canvas.getContext("2d")
  for (const [i, colour] of colours.entries()) {
    disc(pen, [(i + 0.5) * side, side / 2], radius * ratio)
    ink(pen, { fill: colour })
    ink(pen, { line: look.ink, width: (radius > 3 ? 1 : 0.6) * ratio, alpha: 0.7 })
  }
  view.atlas = { key, canvas, side, ratio }
  return view.atlas
}

/** Return a token's colour: the decoder's probability at its position, or its final cluster. */
function colourOf({ scene, look, places }, i) {
  if (!scene.decision) return scene.groups[i] % look.lines.length
  return Math.round(probability(scene, places[2 * i], places[2 * i + 1]) * SHADES)
}

function tokens(pen, view) {
  if (view.scene.count > 700 && !view.scene.deep) specks(pen, view)
  else discs(pen, view)
  for (const [i, since] of view.scene.since) diamond(pen, view, i, since <= view.time + 1e-6)
  for (const i of view.scene.pinned) ring(pen, view, i, 11, [2, 3])
  if (view.chosen !== null) ring(pen, view, view.chosen, 12)
  if (view.hovered !== null && view.hovered !== view.chosen) ring(pen, view, view.hovered, 10)
}

/** Draw very many tokens as two bars of integer pixels each, grouped by colour. */
function specks(pen, view) {
  const { scene, flat, lit, look } = view
  const colours = scene.decision ? look.specks : look.lines
  const groups = colours.map(() => [])
  for (let i = 0; i < scene.count; i++) if (!scene.since.has(i)) groups[colourOf(view, i)].push(i)
  const ratio = pixelRatio()
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

/** Draw tokens as discs from the atlas; in space, near ones last, larger and stronger. */
function discs(pen, view) {
  const { scene, flat, lit, near } = view
  const radius = scene.count <= 200 ? 4.5 : scene.count <= 700 ? 3.4 : 2.4
  const faint = scene.count <= 200 ? 0.85 : 0.75
  const order = scene.deep ? [...Array(scene.count).keys()].sort((a, b) => near[a] - near[b]) : null
  const { canvas, side, ratio } = atlas(view, radius)
  pen.setTransform(1, 0, 0, 1, 0, 0) // integer pixels are much faster to draw
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

/** Draw a leader as a diamond, hollow until the layer from which it leads. */
function diamond(pen, view, i, leads) {
  const { look, lit, scene } = view, [x, y] = spot(view, i)
  const size = scene.count <= 200 ? 8.1 : 7, alpha = lit.size && !lit.has(i) ? 0.25 : 1
  path(pen, [[x, y - size], [x + size, y], [x, y + size], [x - size, y]], true)
  pen.lineJoin = "miter"
  ink(pen, { line: look.ground, width: 4, alpha })
  ink(pen, { fill: leads ? (scene.decision ? look.shades : look.lines)[colourOf(view, i)] : look.ground, line: look.ink, width: 1.7, alpha })
}

function ring(pen, view, i, radius, dash) {
  disc(pen, spot(view, i), radius)
  ink(pen, { line: view.look.ink, width: 1.6, dash })
}

/** Draw the mean token: its path up to now with a dot per layer, and a cross in a disc at its position. */
function mean(pen, view) {
  const { scene, camera, look } = view, [layer] = now(view)
  view.mean = meanAt(view)
  const way = [...scene.means.slice(0, layer + 1), view.mean].map(point => camera.toScreen(point)), [x, y] = way.at(-1)
  path(pen, way)
  ink(pen, { line: look.ink, width: 1.6, alpha: 0.9 })
  for (const at of way.slice(0, -1)) {
    disc(pen, at, 1.8)
    ink(pen, { fill: look.ink, alpha: 0.9 })
  }
  disc(pen, [x, y], 8)
  ink(pen, { fill: look.ground, line: look.ink, width: 2 })
  lines(pen, [[[x - 8, y], [x + 8, y]], [[x, y - 8], [x, y + 8]]])
  ink(pen, { line: look.ink, width: 2 })
}

function meanAt(view) {
  const { means } = view.scene, [from, to, part] = now(view)
  return [0, 1].map(c => mix(means[from][c], means[to][c], part))
}

/** Write labels that do not overlap: the mean, the token under the pointer, leaders, then as many words as have room. Labels that were drawn before stay. */
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
      if (boxes.some(other => meets(box, other))) continue
      boxes.push(box)
      const strength = Math.min((view.strength.get(key) || 0) + (view.still ? 1 : 0.12), 1)
      fresh.set(key, [side, strength])
      say(pen, text, box[0] + 2, box[1] + high / 2, { colour: look.ink, font, alpha: alpha * strength, edge: look.ground })
      return
    }
  }
  for (const i of scene.since.keys()) boxes.push([flat[2 * i] - 7, flat[2 * i + 1] - 7, 14, 14])
  if (scene.means) {
    const [x, y] = view.camera.toScreen(view.mean)
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

const cut = word => shorten(word, 24)

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
