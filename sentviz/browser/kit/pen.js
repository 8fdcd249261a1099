// Drawing on a canvas: path, disc, ink (fills and strokes a path), say (writes a text). `how` names the differences from the default pen.

/** Add a line through points to the path. @param {ArrayLike<number>[]} points */
export function path(pen, points, closed = false) {
  pen.beginPath()
  for (const at of points) pen.lineTo(at[0], at[1])
  if (closed) pen.closePath()
}

/** Add several lines to the path, each between two points. @param {[ArrayLike<number>, ArrayLike<number>][]} pairs */
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

/** @param {{colour: string, font?: string, align?: CanvasTextAlign, base?: CanvasTextBaseline, alpha?: number, edge?: string}} how `edge`: colour
 * of the rim of the letters */
export function say(pen, text, x, y, { colour, font, align = "left", base = "middle", alpha = 1, edge }) {
  if (font) pen.font = font // setting the font is slow, even to the present one
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
