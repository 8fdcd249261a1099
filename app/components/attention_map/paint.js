// Everything on the canvas. Labels are drawn as text, never as markup.

const MINI = 104

function paint(view) {
  const { canvas, head, box, camera, look } = view
  const count = head.labels.length
  const ratio = window.devicePixelRatio || 1
  const pen = canvas.getContext("2d")
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.fillStyle = look.ground
  pen.fillRect(0, 0, view.width, box.height)
  pen.save()
  pen.beginPath()
  pen.rect(box.left, box.top, box.wide, box.high)
  pen.clip()
  for (const [i, layer] of drawn(head, camera, box).entries()) {
    const size = layer.block * camera.zoom
    pen.imageSmoothingEnabled = size < 1
    pen.imageSmoothingQuality = "high"
    const [x, y] = [box.left + (layer.column - camera.x) * camera.zoom, box.top + (layer.row - camera.y) * camera.zoom]
    pen.drawImage(view.pictures[i], x, y, layer.columns * size, layer.rows * size)
  }
  if (camera.zoom >= 9) grid(pen, view, count)
  for (const match of view.matches) if (match === view.match) cross(pen, view, [match, match], look.accent, 0.06, 1, [4, 3])
  if (view.chosen) cross(pen, view, view.chosen, look.accent, 0.05, 2, [])
  else if (head.mark) outline(pen, view, head.mark, look.accent, 2)
  if (view.cursor) cross(pen, view, view.cursor, look.ink, 0, 1, [])
  pen.restore()
  gutters(pen, view, count)
  if (camera.zoom > box.whole * 1.05) minimap(pen, view, count)
}

/** First and last unit in view along one side. */
function span(start, pixels, zoom, count) {
  return [Math.max(Math.floor(start), 0), Math.min(Math.ceil(start + pixels / zoom), count)]
}

function grid(pen, { box, camera, look }, count) {
  pen.strokeStyle = look.ground
  pen.lineWidth = 1
  pen.beginPath()
  for (let [i, last] = span(camera.x, box.wide, camera.zoom, count); i <= last; i++) {
    const x = Math.round(box.left + (i - camera.x) * camera.zoom) + 0.5
    pen.moveTo(x, box.top)
    pen.lineTo(x, box.top + box.high)
  }
  for (let [i, last] = span(camera.y, box.high, camera.zoom, count); i <= last; i++) {
    const y = Math.round(box.top + (i - camera.y) * camera.zoom) + 0.5
    pen.moveTo(box.left, y)
    pen.lineTo(box.left + box.wide, y)
  }
  pen.stroke()
}

/** A row and a column marked by their edges, and the cell where they meet. */
function cross(pen, { box, camera, head }, [row, column], colour, tint, width, dash) {
  const zoom = camera.zoom, reach = head.labels.length
  const [x, y] = [box.left + (column - camera.x) * zoom, box.top + (row - camera.y) * zoom]
  const [x0, y0] = [box.left - camera.x * zoom, box.top - camera.y * zoom]
  pen.save()
  pen.globalAlpha = tint
  pen.fillStyle = colour
  if (tint) {
    pen.fillRect(x0, y, reach * zoom, zoom)
    pen.fillRect(x, y0, zoom, reach * zoom)
  }
  pen.globalAlpha = width > 1 ? 0.9 : 0.55
  pen.strokeStyle = colour
  pen.lineWidth = 1
  pen.setLineDash(dash)
  if (zoom < 4) {
    pen.fillRect(x0, Math.round(y + zoom / 2), reach * zoom, 1)
    pen.fillRect(Math.round(x + zoom / 2), y0, 1, reach * zoom)
  } else {
    pen.strokeRect(x0 - 2, y, reach * zoom + 4, zoom)
    pen.strokeRect(x, y0 - 2, zoom, reach * zoom + 4)
  }
  pen.restore()
  outline(pen, { box, camera }, [row, column], colour, width + 0.5)
}

/** A cell, never so small that it is lost. */
function outline(pen, { box, camera }, [row, column], colour, width) {
  const size = Math.max(camera.zoom, 5)
  const [x, y] = [box.left + (column + 0.5 - camera.x) * camera.zoom, box.top + (row + 0.5 - camera.y) * camera.zoom]
  pen.strokeStyle = colour
  pen.lineWidth = width
  pen.strokeRect(x - size / 2, y - size / 2, size, size)
}

/** Labels of both sides: words where cells are large enough, positions where they are not, and those that are marked in any case. */
function gutters(pen, view, count) {
  const { box, camera, head, look } = view
  const words = camera.zoom >= READABLE - 3
  const step = words ? 1 : [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000].find(s => s * camera.zoom >= 44) || 10000
  const name = i => (words ? head.labels[i] : String(i + 1))
  pen.font = view.font
  pen.textBaseline = "middle"
  const sides = [
    [camera.y, box.high, leftLabel, 0],
    [camera.x, box.wide, topLabel, 1],
  ]
  for (const [start, pixels, put, side] of sides) {
    const marked = new Map()
    if (view.match !== null) marked.set(view.match, look.accent)
    if (view.chosen) marked.set(view.chosen[side], look.accent)
    if (view.cursor) marked.set(view.cursor[side], look.ink)
    const [first, last] = span(start, pixels, camera.zoom, count)
    const inside = i => (i + 0.5 - start) * camera.zoom >= 0 && (i + 0.5 - start) * camera.zoom <= pixels
    const free = i => words ? !marked.has(i) : [...marked.keys()].every(other => Math.abs(other - i) * camera.zoom > 24)
    for (let i = first; i < last; i++) {
      if (inside(i) && (words || (i + 1) % step === 0 || i === 0) && free(i)) put(pen, view, i, name(i), look.muted, false)
    }
    for (const [i, colour] of marked) if (inside(i)) put(pen, view, i, head.labels[i], colour, true)
    pen.fillStyle = look.accent
    for (const i of view.matches) {
      const at = (i - start) * camera.zoom
      if (!inside(i)) continue
      if (side) pen.fillRect(box.left + at, box.top - 4, Math.max(camera.zoom - 1, 2), 3)
      else pen.fillRect(box.left - 4, box.top + at, 3, Math.max(camera.zoom - 1, 2))
    }
  }
  pen.fillStyle = look.muted
  pen.textAlign = "left"
  pen.fillText("key →", 2, 10)
  pen.fillText("query ↓", 2, 27)
}

function leftLabel(pen, { box, camera, look }, i, text, colour, strong) {
  const y = box.top + (i + 0.5 - camera.y) * camera.zoom
  if (strong) {
    pen.fillStyle = look.ground
    pen.fillRect(0, y - 9, box.left - 5, 18)
  }
  pen.fillStyle = colour
  pen.textAlign = "right"
  pen.fillText(cut(pen, text, box.left - 14), box.left - 8, y)
}

function topLabel(pen, { box, camera, look, width }, i, text, colour, strong) {
  const x = box.left + (i + 0.5 - camera.x) * camera.zoom
  const room = Math.min(box.top - 20, width - x - 4) * Math.SQRT2
  pen.save()
  pen.translate(x, box.top - 8)
  pen.rotate(-Math.PI / 4)
  const fitting = cut(pen, text, room)
  if (strong) {
    pen.fillStyle = look.ground
    pen.fillRect(-2, -9, pen.measureText(fitting).width + 6, 18)
  }
  pen.fillStyle = colour
  pen.textAlign = "left"
  pen.fillText(fitting, 0, 0)
  pen.restore()
}

function cut(pen, text, room) {
  if (text.length < 40 && pen.measureText(text).width <= room) return text
  const letters = Array.from(text.slice(0, 80))
  let keep = letters.length
  while (keep > 1 && pen.measureText(letters.slice(0, keep).join("") + "…").width > room) keep--
  return letters.slice(0, keep).join("") + "…"
}

/** Where the plot's minimap lies, in pixels. */
function miniBox(box) {
  const size = Math.min(MINI, box.wide / 3, box.high / 3)
  return { x: box.left + box.wide - size - 8, y: box.top + box.high - size - 8, size }
}

function minimap(pen, view, count) {
  const { box, camera, look } = view
  const { x, y, size } = miniBox(box)
  pen.fillStyle = look.ground
  pen.fillRect(x - 3, y - 3, size + 6, size + 6)
  pen.imageSmoothingEnabled = true
  pen.drawImage(view.pictures[0], x, y, size, size)
  pen.strokeStyle = look.muted
  pen.lineWidth = 1
  pen.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1)
  const unit = size / count
  const [w, h] = [Math.min(box.wide / camera.zoom, count), Math.min(box.high / camera.zoom, count)]
  pen.strokeStyle = look.accent
  pen.lineWidth = 2
  pen.strokeRect(x + camera.x * unit, y + camera.y * unit, Math.max(w * unit, 3), Math.max(h * unit, 3))
}
