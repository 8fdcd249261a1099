// Drawing on a canvas: path, disc, ink (fill and stroke what was laid out), say (a text). `how` names only what differs from the plain pen.

/** Lay out a line through points. @param {ArrayLike<number>[]} points */
export function path(pen, points, closed = false) {
  pen.beginPath()
  for (const at of points) pen.lineTo(at[0], at[1])
  if (closed) pen.closePath()
}

/** Lay out several lines, each from a point to another. @param {[ArrayLike<number>, ArrayLike<number>][]} pairs */
export function lines(pen, pairs) {
  pen.beginPath()
  for (const [from, to] of pairs) {
    pen.moveTo(from[0], from[1])
    pen.lineTo(to[0], to[1])
  }
}

export function disc(pen, [x, y], radius) {
  pen.beginPath()
  pen.arc(x, y, radius, 0, 2 * Math.PI)
}

/** @param {{fill?: any, line?: string, width?: number, alpha?: number, dash?: number[]}} how colours, pixels, 0..1 */
export function ink(pen, { fill, line, width = 1, alpha = 1, dash }) {
  pen.globalAlpha = alpha
  if (fill) {
    pen.fillStyle = fill
    pen.fill()
  }
  if (!line) return
  pen.strokeStyle = line
  pen.lineWidth = width
  if (dash) pen.setLineDash(dash)
  pen.stroke()
  if (dash) pen.setLineDash([])
}

/** @param {{colour: string, font?: string, align?: CanvasTextAlign, base?: CanvasTextBaseline, alpha?: number, edge?: string}} how `edge`: what the
 * letters stand out from */
export function say(pen, text, x, y, { colour, font, align = "left", base = "middle", alpha = 1, edge }) {
  if (font) pen.font = font // slow, even to the font that it has
  pen.textAlign = align
  pen.textBaseline = base
  pen.globalAlpha = alpha
  if (edge) {
    pen.strokeStyle = edge
    pen.lineWidth = 3.5
    pen.lineJoin = "round"
    pen.strokeText(text, x, y)
  }
  pen.fillStyle = colour
  pen.fillText(text, x, y)
}
