// The maps on their canvases: picture (a map's cells as pixels), paintTile (a head, small), paintMap (one map, large), cellAt. Labels are drawn as text.

import { pixelRatio, sized } from "../kit/canvas.js"
import { gradient } from "../kit/colour.js"
import { fitText } from "../kit/format.js"
import { clamp } from "../kit/maths.js"
import { ink, say } from "../kit/pen.js"
import { map, places, span } from "./scene.js"

const LEAST = 11 // smallest size of a cell, in pixels, at which words are written

/** Return 256 colours of a scale. @returns {number[][]} */
export const table = stops => Array.from({ length: 256 }, (_, k) => gradient(stops)(k / 255))

/** Return the position of a weight on its colour scale, 0..255. */
export const toned = (value, { peak, signed }) => Math.round(255 * clamp(signed ? (value / peak + 1) / 2 : value / peak, 0, 1))

/** Draw a map with a pixel for each weight. */
export function picture(scene, pick, tables) {
  const values = map(scene, pick), range = span(values), colours = range.signed ? tables.signed : tables.sequential
  const canvas = Object.assign(document.createElement("canvas"), { width: scene.side, height: scene.side })
  const pen = canvas.getContext("2d"), image = pen.createImageData(scene.side, scene.side)
  for (const [k, value] of values.entries()) image.data.set([...colours[toned(value, range)], 255], 4 * k)
  pen.putImageData(image, 0, 0)
  return canvas
}

/** Draw a head in its tile, and the columns of highlighted tokens. @param {number[]} lit tokens */
export function paintTile(canvas, scene, image, look, lit) {
  const wide = canvas.clientWidth
  if (!wide) return
  sized(canvas, wide, wide)
  const pen = canvas.getContext("2d"), ratio = pixelRatio(), unit = wide / scene.side
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.imageSmoothingEnabled = unit < 1
  pen.globalAlpha = 1
  pen.drawImage(image, 0, 0, wide, wide)
  pen.fillStyle = look.accent
  for (const k of places(scene, lit)) {
    pen.globalAlpha = 0.28
    pen.fillRect(k * unit, 0, unit, wide)
    pen.fillRect(0, k * unit, wide, unit)
  }
}

/** Return the position of the large map on its canvas. */
function frame(view, width) {
  const { scene, look } = view, pen = view.parts.map.getContext("2d"), n = scene.side
  pen.font = look.font
  const longest = scene.maps.names.reduce((most, name) => Math.max(most, pen.measureText(name.slice(0, 24)).width), 0)
  const left = clamp(longest + 12, 30, width * 0.3), top = clamp(longest * 0.72 + 14, 30, 84)
  const side = Math.max(Math.min(width - left - Math.min(top, longest * 0.72), view.room - top, 34 * n), 60)
  return { left, top, side, unit: side / n }
}

/** Draw the large map with its words, and the rows and columns of highlighted tokens on top. @param {{lit: number[], cell: [number, number]|null}} state */
export function paintMap(view, { lit, cell }) {
  const { scene, look, parts } = view, canvas = parts.map, width = canvas.clientWidth
  if (!width) return
  const at = (view.at = frame(view, width)), { left, top, side, unit } = at, n = scene.side, ratio = pixelRatio()
  sized(canvas, width, top + side + 2)
  const pen = canvas.getContext("2d"), on = new Set(places(scene, lit))
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.globalAlpha = 1
  pen.fillStyle = look.ground
  pen.fillRect(0, 0, width, top + side + 2)
  pen.imageSmoothingEnabled = unit < 1
  pen.drawImage(view.image, left, top, side, side)
  if (unit >= 9) grid(pen, at, n, look)
  if (on.size) veil(pen, at, on, n, look)
  for (const k of on) {
    box(pen, left, top + k * unit, side, unit, look.accent)
    box(pen, left + k * unit, top, unit, side, look.accent)
  }
  if (cell) box(pen, left + cell[1] * unit, top + cell[0] * unit, unit, unit, look.ink)
  const marked = new Set([...on, ...(cell || [])])
  for (let k = 0; k < n; k++) {
    if (unit < LEAST && !marked.has(k)) continue
    const how = { colour: marked.has(k) ? look.ink : look.muted, font: marked.has(k) ? look.strong : look.font, alpha: on.size && !marked.has(k) ? 0.6 : 1 }
    say(pen, cut(pen, scene.maps.names[k], left - 12), left - 6, top + (k + 0.5) * unit, { ...how, align: "right", edge: unit < LEAST ? look.ground : undefined })
    pen.save()
    pen.translate(left + (k + 0.5) * unit, top - 6)
    pen.rotate(-Math.PI / 4)
    say(pen, cut(pen, scene.maps.names[k], (top - 8) * Math.SQRT2), 0, 0, how)
    pen.restore()
  }
}

const cut = (pen, text, room) => fitText(text, room, part => pen.measureText(part).width)

function grid(pen, { left, top, side, unit }, n, look) {
  pen.beginPath()
  for (let k = 0; k <= n; k++) {
    pen.moveTo(left + k * unit, top)
    pen.lineTo(left + k * unit, top + side)
    pen.moveTo(left, top + k * unit)
    pen.lineTo(left + side, top + k * unit)
  }
  ink(pen, { line: look.ground })
}

/** Fade the cells outside the rows and columns of highlighted tokens. */
function veil(pen, { left, top, unit }, on, n, look) {
  pen.fillStyle = look.ground
  pen.globalAlpha = 0.55
  for (let r = 0; r < n; r++) {
    if (on.has(r)) continue
    for (let c = 0; c < n; c++) if (!on.has(c)) pen.fillRect(left + c * unit, top + r * unit, unit, unit)
  }
  pen.globalAlpha = 1
}

function box(pen, x, y, wide, high, colour) {
  pen.beginPath()
  pen.rect(x, y, wide, high)
  ink(pen, { line: colour, width: 1.5 })
}

/** Return query and key at a point of the large map; at a label, only its row or column. @returns {{cell: [number, number]|null, place: number|null}} */
export function cellAt({ at, scene }, [x, y]) {
  if (!at) return { cell: null, place: null }
  const { left, top, unit } = at, [key, query] = [Math.floor((x - left) / unit), Math.floor((y - top) / unit)]
  const inside = k => k >= 0 && k < scene.side
  if (inside(key) && inside(query)) return { cell: [query, key], place: query }
  return { cell: null, place: key < 0 && inside(query) ? query : query < 0 && inside(key) ? key : null }
}
