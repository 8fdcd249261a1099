// Everything on the canvas: paint, and where its minimap lies (miniBox). Labels are drawn as text, never as markup.

import { pixelRatio } from "../../../sentviz/browser/kit/canvas.js"
import { fitText } from "../../../sentviz/browser/kit/format.js"
import { ink, lines, path, say } from "../../../sentviz/browser/kit/pen.js"
import { drawn, labelStep, stairs, units } from "./tiles.js"

const MINI = 104
const EDGED = 24 // pixels of a window from which its edges are drawn
export const READABLE = 14 // pixels of a unit from which words are written

export function paint(view) {
  const { canvas, head, camera, look } = view
  const ratio = pixelRatio()
  const pen = canvas.getContext("2d")
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.fillStyle = look.ground
  pen.fillRect(0, 0, canvas.width, canvas.height)
  pen.save()
  pen.beginPath()
  pen.rect(camera.left, camera.top, camera.width, camera.height)
  pen.clip()
  for (const [i, layer] of drawn(head, camera).entries()) {
    const size = layer.block * camera.scale
    pen.imageSmoothingEnabled = size < 1
    pen.imageSmoothingQuality = "high"
    pen.drawImage(view.pictures[i], ...corner(camera, layer.row, layer.column), layer.columns * size, layer.rows * size)
  }
  if (camera.scale >= 9) grid(pen, view)
  if (head.sight) seen(pen, view)
  if (view.match !== null) cross(pen, view, [view.match, view.match], look.accent, 0.06, 1, [4, 3])
  if (view.chosen) cross(pen, view, view.chosen, look.accent, 0.05, 2, [])
  else if (head.mark) outline(pen, view, head.mark, look.accent, 2)
  if (view.cursor) cross(pen, view, view.cursor, look.ink, 0, 1, [])
  pen.restore()
  gutters(pen, view)
  if (camera.scale > camera.fitted * 1.05) minimap(pen, view)
}

/** Pixels of a cell's upper left corner. */
const corner = (camera, row, column) => [camera.along(0, column), camera.along(1, row)]

function grid(pen, { head, camera, look }) {
  const { left, top, width, height } = camera
  const pairs = [0, 1].flatMap(side => {
    const [first, last] = units(camera, side, head.labels.length)
    return Array.from({ length: last - first + 1 }, (_, k) => {
      const at = Math.round(camera.along(side, first + k)) + 0.5
      return side ? [[left, at], [left + width, at]] : [[at, top], [at, top + height]]
    })
  })
  lines(pen, pairs)
  ink(pen, { line: look.ground })
}

/** Where a window ends, as stairs where it is wide enough to be told from the diagonal, and the columns of units that all see. */
function seen(pen, { head, camera, look }) {
  const { low, high, everywhere } = head.sight, [first, last] = units(camera, 1, head.labels.length)
  const wide = (high[first] - low[first] + 1) * camera.scale
  if (wide >= EDGED) {
    for (const side of [low, high.map(i => i + 1)]) {
      path(pen, stairs(side, first, last).map(([column, row]) => corner(camera, row, column)))
      ink(pen, { line: look.muted, alpha: 0.8 })
    }
  }
  const [top, bottom] = [0, head.labels.length].map(row => camera.along(1, row))
  for (const i of everywhere) {
    const [x, next] = [camera.along(0, i), camera.along(0, i + 1)], middle = (x + next) / 2
    lines(pen, next - x < 4 ? [[[middle, top], [middle, bottom]]] : [[[x, top], [x, bottom]], [[next, top], [next, bottom]]])
    ink(pen, { line: look.muted, alpha: 0.5, dash: [3, 3] })
  }
  pen.globalAlpha = 1
}

/** A row and a column marked by their edges, and the cell where they meet. */
function cross(pen, { camera, head }, [row, column], colour, tint, width, dash) {
  const zoom = camera.scale, reach = head.labels.length * zoom
  const [x, y] = corner(camera, row, column), [x0, y0] = corner(camera, 0, 0)
  pen.save()
  pen.globalAlpha = tint
  pen.fillStyle = colour
  if (tint) {
    pen.fillRect(x0, y, reach, zoom)
    pen.fillRect(x, y0, zoom, reach)
  }
  pen.globalAlpha = width > 1 ? 0.9 : 0.55
  pen.strokeStyle = colour
  pen.lineWidth = 1
  pen.setLineDash(dash)
  if (zoom < 4) {
    pen.fillRect(x0, Math.round(y + zoom / 2), reach, 1)
    pen.fillRect(Math.round(x + zoom / 2), y0, 1, reach)
  } else {
    pen.strokeRect(x0 - 2, y, reach + 4, zoom)
    pen.strokeRect(x, y0 - 2, zoom, reach + 4)
  }
  pen.restore()
  outline(pen, { camera }, [row, column], colour, width + 0.5)
}

/** A cell, never so small that it is lost. */
function outline(pen, { camera }, [row, column], colour, width) {
  const size = Math.max(camera.scale, 5)
  const [x, y] = corner(camera, row + 0.5, column + 0.5)
  pen.strokeStyle = colour
  pen.lineWidth = width
  pen.strokeRect(x - size / 2, y - size / 2, size, size)
}

/** Labels of both sides: words where cells are large enough, positions where they are not, and those that are marked in any case. */
function gutters(pen, view) {
  const { camera, head, look } = view, zoom = camera.scale, count = head.labels.length
  const words = zoom >= READABLE - 3
  const step = words ? 1 : labelStep(zoom)
  const name = i => (words ? head.labels[i] : String(i + 1))
  pen.font = view.font
  for (const [side, put] of [[0, leftLabel], [1, topLabel]]) {
    const marked = new Map(side ? (head.sight?.everywhere || []).map(i => [i, look.muted]) : [])
    if (view.match !== null) marked.set(view.match, look.accent)
    if (view.chosen) marked.set(view.chosen[side], look.accent)
    if (view.cursor) marked.set(view.cursor[side], look.ink)
    const [low, high] = camera.span(1 - side), [first, last] = units(camera, 1 - side, count)
    const inside = i => i + 0.5 >= low && i + 0.5 <= high
    const free = i => words ? !marked.has(i) : [...marked.keys()].every(other => Math.abs(other - i) * zoom > 24)
    for (let i = first; i < last; i++) {
      if (inside(i) && (words || (i + 1) % step === 0 || i === 0) && free(i)) put(pen, view, i, name(i), look.muted, false)
    }
    for (const [i, colour] of marked) if (inside(i)) put(pen, view, i, head.labels[i], colour, true)
    pen.fillStyle = look.accent
    for (const i of view.matches) {
      if (!inside(i)) continue
      const at = camera.along(1 - side, i), long = Math.max(zoom - 1, 2)
      if (side) pen.fillRect(at, camera.top - 4, long, 3)
      else pen.fillRect(camera.left - 4, at, 3, long)
    }
  }
  say(pen, "key →", 2, 10, { colour: look.muted })
  say(pen, "query ↓", 2, 27, { colour: look.muted })
}

function leftLabel(pen, { camera, look }, i, text, colour, strong) {
  const y = camera.along(1, i + 0.5)
  if (strong) {
    pen.fillStyle = look.ground
    pen.fillRect(0, y - 9, camera.left - 5, 18)
  }
  say(pen, cut(pen, text, camera.left - 14), camera.left - 8, y, { colour, align: "right" })
}

function topLabel(pen, { camera, look, width }, i, text, colour, strong) {
  const x = camera.along(0, i + 0.5)
  const room = Math.min(camera.top - 20, width - x - 4) * Math.SQRT2
  pen.save()
  pen.translate(x, camera.top - 8)
  pen.rotate(-Math.PI / 4)
  const fitting = cut(pen, text, room)
  if (strong) {
    pen.fillStyle = look.ground
    pen.fillRect(-2, -9, pen.measureText(fitting).width + 6, 18)
  }
  say(pen, fitting, 0, 0, { colour })
  pen.restore()
}

const cut = (pen, text, room) => fitText(text, room, part => pen.measureText(part).width)

/** Where the plot's minimap lies, in pixels. */
export function miniBox({ left, top, width, height }) {
  const size = Math.min(MINI, width / 3, height / 3)
  return { x: left + width - size - 8, y: top + height - size - 8, size }
}

function minimap(pen, view) {
  const { camera, look, head } = view, count = head.labels.length
  const { x, y, size } = miniBox(camera), unit = size / count
  pen.fillStyle = look.ground
  pen.fillRect(x - 3, y - 3, size + 6, size + 6)
  pen.imageSmoothingEnabled = true
  pen.drawImage(view.pictures[0], x, y, size, size)
  pen.strokeStyle = look.muted
  pen.lineWidth = 1
  pen.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1)
  const [[x0, x1], [y0, y1]] = [0, 1].map(c => camera.span(c).map(value => Math.min(value, count) * unit))
  pen.strokeStyle = look.accent
  pen.lineWidth = 2
  pen.strokeRect(x + x0, y + y0, Math.max(x1 - x0, 3), Math.max(y1 - y0, 3))
}
