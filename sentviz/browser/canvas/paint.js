// The maps on their canvases: picture (a map's cells as pixels), paintTile (a head, small), paintMap (one map, large), cellAt. Labels are drawn as text.

import { pixelRatio, sized } from "../kit/canvas.js"
import { gradient } from "../kit/colour.js"
import { fitText } from "../kit/format.js"
import { clamp } from "../kit/maths.js"
import { ink, say } from "../kit/pen.js"
import { map, places, span } from "./scene.js"

const [NARROWEST, SLANTED, WIDEST] = [13, 19, 84] // width of a cell in pixels: the smallest, the smallest for slanted words, the largest
const [LOWEST, HIGHEST] = [14, 34] // height of a cell in pixels

/** Return 256 colours of a scale. @returns {number[][]} */
export const table = stops => Array.from({ length: 256 }, (_, k) => gradient(stops)(k / 255))

/** Return the position of a weight on its colour scale, 0..255. */
export const toned = (value, { peak, signed }) => Math.round(255 * clamp(signed ? (value / peak + 1) / 2 : value / peak, 0, 1))

/** Draw a map with a pixel for each weight. */
export function picture(scene, pick, tables) {
  const values = map(scene, pick), range = span(values), colours = range.signed ? tables.signed : tables.sequential
  const canvas = Object.assign(document.createElement("canvas"), { width: scene.side, height: scene.side })
  const pen = canvas.getContext("2d"), image = pen.createImageData(scene.side, scene.side), { data } = image
  for (let k = 0; k < values.length; k++) {
    const colour = colours[toned(values[k], range)]
    for (let c = 0; c < 3; c++) data[4 * k + c] = colour[c]
    data[4 * k + 3] = 255
  }
  pen.putImageData(image, 0, 0)
  return canvas
}

/** Draw a head in its tile, and the columns of highlighted tokens. @param {number} wide pixels @param {number[]} lit tokens */
export function paintTile(canvas, wide, scene, image, look, lit) {
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

/** Return the place of the large map on its canvas. The words above it are turned if a cell is narrower than they are. A map with many tokens
 * is larger than its room.
 * @param {number} n tokens @param {number} longest width of the longest word in pixels @param {number} room width in pixels @param {number} below height in pixels */
export function layout(n, longest, room, below) {
  const left = clamp(longest + 12, 30, Math.max(room * 0.25, 60)), slant = Math.min(longest * Math.SQRT1_2, 72)
  const cell = right => clamp((room - left - right) / n, NARROWEST, WIDEST)
  const [angle, wide, top] = longest + 8 <= cell(0) ? [0, cell(0), 22]
    : cell(slant) >= SLANTED ? [-Math.PI / 4, cell(slant), slant + 14] : [-Math.PI / 2, cell(0), Math.min(longest + 14, 110)]
  const high = clamp((below - top) / n, LOWEST, HIGHEST)
  // Whole pixels: a pixel that is covered in part would become darker with each repaint.
  const [width, height] = [left + wide * n + (angle === -Math.PI / 4 ? slant : 0), top + high * n + 2].map(Math.round)
  return { left, top, wide, high, angle, width, height }
}

/** Draw the large map with its words, and the rows and columns of highlighted tokens on top. @param {{lit: number[], cell: [number, number]|null}} state */
export function paintMap(view, { lit, cell }) {
  const { scene, look, parts } = view, canvas = parts.map, room = parts["map-room"].clientWidth
  if (!room) return
  const pen = canvas.getContext("2d"), n = scene.side, ratio = pixelRatio()
  pen.font = look.font
  const longest = scene.maps.names.reduce((most, name) => Math.max(most, pen.measureText(name.slice(0, 24)).width), 0)
  const at = (view.at = layout(n, longest, room, view.room)), { left, top, wide, high, angle, width, height } = at, on = new Set(places(scene, lit))
  canvas.style.width = `${width}px`
  sized(canvas, width, height)
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.font = look.font // a canvas of a new size has forgotten it
  pen.globalAlpha = 1
  pen.fillStyle = look.ground
  pen.fillRect(0, 0, width, height)
  pen.imageSmoothingEnabled = false
  pen.drawImage(view.image, left, top, wide * n, high * n)
  grid(pen, at, n, look)
  if (on.size) veil(pen, at, on, n, look)
  for (const k of on) {
    box(pen, left, top + k * high, wide * n, high, look.accent)
    box(pen, left + k * wide, top, wide, high * n, look.accent)
  }
  if (cell) box(pen, left + cell[1] * wide, top + cell[0] * high, wide, high, look.ink)
  const marked = new Set([...on, ...(cell || [])]), above = angle ? (top - 8) / Math.max(-Math.sin(angle), 0.5) : wide - 4
  for (let k = 0; k < n; k++) {
    const how = { colour: marked.has(k) ? look.ink : look.muted, font: marked.has(k) ? look.strong : look.font, alpha: on.size && !marked.has(k) ? 0.6 : 1 }
    say(pen, cut(pen, scene.maps.names[k], left - 12), left - 6, top + (k + 0.5) * high, { ...how, align: "right" })
    pen.save()
    pen.translate(left + (k + 0.5) * wide, top - (angle ? 6 : 10))
    pen.rotate(angle)
    say(pen, cut(pen, scene.maps.names[k], above), 0, 0, { ...how, align: angle ? "left" : "center" })
    pen.restore()
  }
}

const cut = (pen, text, room) => fitText(text, room, part => pen.measureText(part).width)

function grid(pen, { left, top, wide, high }, n, look) {
  pen.beginPath()
  for (let k = 0; k <= n; k++) {
    pen.moveTo(left + k * wide, top)
    pen.lineTo(left + k * wide, top + high * n)
    pen.moveTo(left, top + k * high)
    pen.lineTo(left + wide * n, top + k * high)
  }
  ink(pen, { line: look.ground })
}

/** Fade the cells outside the rows and columns of highlighted tokens. */
function veil(pen, { left, top, wide, high }, on, n, look) {
  pen.fillStyle = look.ground
  pen.globalAlpha = 0.55
  for (let r = 0; r < n; r++) {
    if (on.has(r)) continue
    for (let c = 0; c < n; c++) if (!on.has(c)) pen.fillRect(left + c * wide, top + r * high, wide, high)
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
  const { left, top, wide, high } = at, [key, query] = [Math.floor((x - left) / wide), Math.floor((y - top) / high)]
  const inside = k => k >= 0 && k < scene.side
  if (inside(key) && inside(query)) return { cell: [query, key], place: query }
  return { cell: null, place: key < 0 && inside(query) ? query : query < 0 && inside(key) ? key : null }
}
