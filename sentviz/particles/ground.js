// What stands still on the canvas while a layer lasts: paper, shade and grid, the limit, the decision line, ways already gone.

const SHADES = 24

/** All that stands still within a layer, drawn once: paper, the limit, the decision line, and the ways of whole layers. */
function backdrop(view, ratio) {
  const { scene, camera, shows } = view
  const [layer] = moment(scene, view.time)
  const walked = shows.trails && !view.before
  const key = [layer, camera.x, camera.y, camera.scale, camera.yaw, camera.pitch, view.canvas.width, view.hovered, view.chosen, view.version, shows.limit, walked].join()
  const kept = (view.backdrop ||= document.createElement("canvas"))
  if (view.backdropKey === key) return kept
  view.backdropKey = key
  kept.width = view.canvas.width
  kept.height = view.canvas.height
  const pen = kept.getContext("2d", { alpha: false })
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  ground(pen, view)
  if (shows.limit) limit(pen, view)
  for (let at = 0; walked && at < layer; at++) {
    walk(pen, view, i => stand(view, at, i), i => stand(view, at + 1, i), 0.1 + 0.2 * ((at + 1) / layer))
  }
  if (scene.decision) boundary(pen, view)
  return kept
}

/** Paper, the decoder's probability as a shade, a grid and the origin. */
function ground(pen, { scene, camera, look, width, height }) {
  pen.globalAlpha = 1
  pen.fillStyle = look.ground
  pen.fillRect(0, 0, width, height)
  if (scene.decision) {
    const { w, b } = scene.decision
    const size = Math.hypot(...w) || 1e-9
    const [nx, ny] = [w[0] / size, -w[1] / size] // across the line, in pixels
    const [ox, oy] = pixel(camera, [(-b * w[0]) / size ** 2, (-b * w[1]) / size ** 2])
    const reach = (6 / size) * camera.scale // logits from -6 to 6
    const shade = pen.createLinearGradient(ox - nx * reach, oy - ny * reach, ox + nx * reach, oy + ny * reach)
    for (let i = 0; i <= SHADES; i++) shade.addColorStop(i / SHADES, look.shades[Math.round(SHADES / (1 + Math.exp(6 - (12 * i) / SHADES)))])
    pen.globalAlpha = look.dark ? 0.3 : 0.24
    pen.fillStyle = shade
    pen.fillRect(0, 0, width, height)
  }
  if (scene.deep) return axes3(pen, camera, look, scene)
  const step = [1, 2, 5, 10].map(n => n * 10 ** Math.floor(Math.log10(90 / camera.scale))).find(n => n * camera.scale >= 70)
  const digits = Math.max(0, -Math.floor(Math.log10(step)))
  const [x0, x1] = [camera.x - camera.left / camera.scale, camera.x + (width - camera.left) / camera.scale]
  const [y0, y1] = [camera.y - (height - camera.top) / camera.scale, camera.y + camera.top / camera.scale]
  pen.lineWidth = 1
  pen.strokeStyle = pen.fillStyle = look.ink
  pen.font = look.small
  for (const [first, last, across] of [[x0, x1, true], [y0, y1, false]]) {
    for (let n = Math.ceil(first / step); n * step <= last; n++) {
      const [x, y] = pixel(camera, across ? [n * step, 0] : [0, n * step])
      pen.globalAlpha = n ? 0.07 : 0.22
      pen.beginPath()
      if (across) pen.moveTo(Math.round(x) + 0.5, 0), pen.lineTo(Math.round(x) + 0.5, height)
      else pen.moveTo(0, Math.round(y) + 0.5), pen.lineTo(width, Math.round(y) + 0.5)
      pen.stroke()
      pen.globalAlpha = 0.5
      pen.textAlign = across ? "center" : "left"
      pen.textBaseline = across ? "bottom" : "middle"
      if (across ? x > 30 && x < width - 60 : y > 26 && y < height - 20) pen.fillText(shown(n * step, digits), across ? x : 4, across ? height - 4 : y)
    }
  }
  pen.textAlign = "right"
  pen.globalAlpha = 0.65
  pen.fillText(scene.axes[0] + " →", width - 6, height - 4)
  pen.save()
  pen.translate(4, 6)
  pen.textAlign = "left"
  pen.textBaseline = "top"
  pen.fillText("↑ " + scene.axes[1], 0, 0)
  pen.restore()
}

function axes3(pen, camera, look, scene) {
  const reach = (0.28 * camera.top) / camera.fitted
  pen.strokeStyle = pen.fillStyle = look.ink
  pen.lineWidth = 1
  pen.font = look.small
  pen.textAlign = "center"
  pen.textBaseline = "middle"
  for (const c of [0, 1, 2]) {
    const end = [0, 1, 2].map(k => (k === c ? reach : 0))
    const [from, to] = [[0, 0, 0], end].map(point => pixel(camera, seen(scene, camera, point, 0)))
    pen.globalAlpha = 0.35
    pen.beginPath()
    pen.moveTo(...from)
    pen.lineTo(...to)
    pen.stroke()
    pen.globalAlpha = 0.6
    pen.fillText(scene.axes[c], to[0] + (to[0] - from[0]) * 0.14, to[1] + (to[1] - from[1]) * 0.14)
  }
}

/** The polytope that the leaders end on, dotted. */
function limit(pen, { scene, camera, look }) {
  const corners = scene.corners.map((_, i) => pixel(camera, seen(scene, camera, scene.corners.flat(), i)))
  if (!corners.length) return
  pen.beginPath()
  for (const [a, b] of scene.edges) {
    pen.moveTo(...corners[a])
    pen.lineTo(...corners[b])
  }
  pen.strokeStyle = look.accent
  pen.lineWidth = 1.6
  pen.globalAlpha = 0.85
  pen.setLineDash([1.5, 4])
  pen.lineCap = "round"
  pen.stroke()
  pen.setLineDash([])
  pen.lineCap = "butt"
}

/** A token's place after a layer, in pixels. */
function stand({ scene, camera }, layer, i) {
  return pixel(camera, seen(scene, camera, scene.positions, layer * scene.count + i))
}

function walk(pen, { scene, look, lit }, from, to, alpha) {
  const few = scene.count > 400 ? 0.45 : 1
  for (const bright of lit.size ? [false, true] : [true]) {
    pen.beginPath()
    for (let i = 0; i < scene.count; i++) {
      if (lit.size && lit.has(i) !== bright) continue
      pen.moveTo(...from(i))
      pen.lineTo(...to(i))
    }
    pen.strokeStyle = look.ink
    pen.lineWidth = lit.size && bright ? 1.6 : 1
    pen.globalAlpha = alpha * few * (lit.size ? (bright ? 2 : 0.25) : 1)
    pen.stroke()
  }
}

function boundary(pen, { scene, camera, look, width, height }) {
  const { w, b } = scene.decision
  const size = Math.hypot(...w) || 1e-9
  const [x, y] = pixel(camera, [(-b * w[0]) / size ** 2, (-b * w[1]) / size ** 2])
  const [dx, dy] = [w[1] / size, w[0] / size] // along the line, in pixels
  const far = width + height + Math.hypot(x, y)
  pen.beginPath()
  pen.moveTo(x - dx * far, y - dy * far)
  pen.lineTo(x + dx * far, y + dy * far)
  pen.strokeStyle = look.ink
  pen.lineWidth = 1.6
  pen.globalAlpha = 0.85
  pen.setLineDash([8, 6])
  pen.stroke()
  pen.setLineDash([])
}
