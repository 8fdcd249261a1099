// Where we look: the unit at the top left corner of the plot, and pixels a unit.

const LARGEST = 44, READABLE = 14, HIGHEST = 520

/** Sizes that follow from the width of the canvas: gutters for labels, the plot, the zoom that shows everything. */
function measure(head, width, textWidth) {
  const longest = head.labels.slice(0, 3000).reduce((most, label) => Math.max(most, textWidth(label.slice(0, 24))), 0)
  const left = Math.min(Math.max(longest + 18, 52), Math.min(150, width * 0.3))
  const top = Math.min(Math.max(longest * 0.72 + 22, 52), 112)
  const wide = Math.max(width - left - 2, 60)
  const whole = Math.min(wide / head.labels.length, HIGHEST / head.labels.length, LARGEST)
  const high = Math.max(Math.min(whole * head.labels.length, HIGHEST), 60)
  return { left, top, wide, high, whole, height: top + high + 2 }
}

/** The camera kept inside the map. */
function clamp(camera, box, count) {
  camera.zoom = Math.min(Math.max(camera.zoom, box.whole), Math.max(LARGEST, box.whole))
  camera.x = Math.max(0, Math.min(camera.x, count - box.wide / camera.zoom))
  camera.y = Math.max(0, Math.min(camera.y, count - box.high / camera.zoom))
}

/** Zoom by a factor about a point of the plot, in pixels. */
function zoomAt(camera, factor, px, py, box, count) {
  const [x, y] = [camera.x + px / camera.zoom, camera.y + py / camera.zoom]
  camera.zoom = Math.min(Math.max(camera.zoom * factor, box.whole), Math.max(LARGEST, box.whole))
  camera.x = x - px / camera.zoom
  camera.y = y - py / camera.zoom
  clamp(camera, box, count)
}

/** The cell at a point of the canvas, or null outside the map. */
function cellAt(camera, box, count, px, py) {
  if (px < box.left || py < box.top || px > box.left + box.wide || py > box.top + box.high) return null
  const column = Math.floor(camera.x + (px - box.left) / camera.zoom)
  const row = Math.floor(camera.y + (py - box.top) / camera.zoom)
  return row >= 0 && column >= 0 && row < count && column < count ? [row, column] : null
}

/** Move just enough to show a cell. */
function reveal(camera, box, count, [row, column]) {
  const [w, h] = [box.wide / camera.zoom, box.high / camera.zoom]
  if (column < camera.x) camera.x = column
  if (column + 1 > camera.x + w) camera.x = column + 1 - w
  if (row < camera.y) camera.y = row
  if (row + 1 > camera.y + h) camera.y = row + 1 - h
  clamp(camera, box, count)
}

/** A cell in the middle of the view, large enough to be read. */
function centre(camera, box, count, [row, column]) {
  camera.zoom = Math.max(camera.zoom, Math.min(READABLE + 2, LARGEST))
  camera.x = column + 0.5 - box.wide / camera.zoom / 2
  camera.y = row + 0.5 - box.high / camera.zoom / 2
  clamp(camera, box, count)
}

/** The layers worth drawing: the overview alone until exact tiles fill the view. */
function drawn(head, camera, box) {
  const near = Math.max(box.wide, box.high) / camera.zoom <= 420
  return head.layers.length > 1 && near ? head.layers : head.layers.slice(0, 1)
}
