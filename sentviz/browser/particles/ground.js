// Everything that stays still during a layer: backdrop (paper, shade, grid, limit, past paths, decision line), walk, stand.

import { ticks } from "../kit/format.js"
import { ink, lines, say } from "../kit/pen.js"
import { now } from "./scene.js"

export const SHADES = 24

/** Draw everything that stays still during a layer, once. */
export function backdrop(view, ratio) {
  const { scene, camera, shows } = view, [layer] = now(view)
  const walked = shows.trails && !view.before
  const key = [layer, camera.key, view.canvas.width, view.hovered, view.chosen, view.version, shows.limit, walked].join()
  const kept = (view.backdrop ||= document.createElement("canvas"))
  if (view.backdropKey === key) return kept
  view.backdropKey = key
  Object.assign(kept, { width: view.canvas.width, height: view.canvas.height })
  const pen = kept.getContext("2d", { alpha: false })
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  ground(pen, view)
  if (scene.deep) axes(pen, view)
  else grid(pen, view)
  if (shows.limit) limit(pen, view)
  for (let at = 0; walked && at < layer; at++) {
    walk(pen, view, stand(view, at), stand(view, at + 1), 0.1 + 0.2 * ((at + 1) / layer))
  }
  if (scene.decision) boundary(pen, view)
  return kept
}

/** Return a point of the decision line in pixels, the direction across it, and the slope of the logits. */
function decided({ scene: { decision: { w, b } }, camera }) {
  const size = Math.hypot(...w) || 1e-9
  const [x, y] = camera.toScreen(w.map(part => (-b * part) / size ** 2))
  return { x, y, across: [w[0] / size, -w[1] / size], size }
}

/** Draw paper, and the decoder's probability as a shade. */
function ground(pen, view) {
  const { camera, look, width, height } = view
  pen.globalAlpha = 1
  pen.fillStyle = look.ground
  pen.fillRect(0, 0, width, height)
  if (!view.scene.decision) return
  const { x, y, across: [nx, ny], size } = decided(view), reach = (6 / size) * camera.scale // logits from -6 to 6
  const shade = pen.createLinearGradient(x - nx * reach, y - ny * reach, x + nx * reach, y + ny * reach)
  for (let i = 0; i <= SHADES; i++) shade.addColorStop(i / SHADES, look.shades[Math.round(SHADES / (1 + Math.exp(6 - (12 * i) / SHADES)))])
  pen.globalAlpha = look.dark ? 0.3 : 0.24
  pen.fillStyle = shade
  pen.fillRect(0, 0, width, height)
}

/** Draw a grid with numbers, the origin, and the names of the axes. */
function grid(pen, { scene, camera, look, width, height }) {
  const how = { colour: look.ink, font: look.small }
  for (const side of [0, 1]) {
    for (const [value, text] of ticks(camera.span(side), camera.scale)) {
      const at = camera.along(side, value), sharp = Math.round(at) + 0.5
      lines(pen, [side ? [[0, sharp], [width, sharp]] : [[sharp, 0], [sharp, height]]])
      ink(pen, { line: look.ink, alpha: value ? 0.07 : 0.22 })
      if (side && at > 26 && at < height - 20) say(pen, text, 4, at, { ...how, alpha: 0.5 })
      if (!side && at > 30 && at < width - 60) say(pen, text, at, height - 4, { ...how, align: "center", base: "bottom", alpha: 0.5 })
    }
  }
  say(pen, `${scene.axes[0]} →`, width - 6, height - 4, { ...how, align: "right", base: "middle", alpha: 0.65 })
  say(pen, `↑ ${scene.axes[1]}`, 4, 6, { ...how, base: "top", alpha: 0.65 })
}

function axes(pen, { camera, look, scene }) {
  const reach = (0.14 * camera.height) / camera.fitted
  for (const c of [0, 1, 2]) {
    const [from, to] = [0, reach].map(long => camera.toScreen([0, 1, 2].map(k => (k === c ? long : 0))))
    lines(pen, [[from, to]])
    ink(pen, { line: look.ink, alpha: 0.35 })
    const [x, y] = [0, 1].map(k => to[k] + (to[k] - from[k]) * 0.14)
    say(pen, scene.axes[c], x, y, { colour: look.ink, font: look.small, align: "center", alpha: 0.6 })
  }
}

/** Draw the polytope of the leaders' limits with dots. */
function limit(pen, { scene, camera, look }) {
  const corners = scene.corners.map(at => camera.toScreen(at))
  lines(pen, scene.edges.map(([a, b]) => [corners[a], corners[b]]))
  pen.lineCap = "round"
  ink(pen, { line: look.accent, width: 1.6, alpha: 0.85, dash: [1.5, 4] })
  pen.lineCap = "butt"
}

/** Return the positions of tokens after a layer in pixels, (count, 2). */
export function stand({ scene: { positions, count, dimension }, camera }, layer) {
  return camera.project(positions.subarray(layer * count * dimension), count, new Float32Array(2 * count))
}

/** Draw a line for each token between pixels (count, 2), highlighted ones on top. */
export function walk(pen, { scene, look, lit }, from, to, alpha) {
  const few = scene.count > 400 ? 0.45 : 1
  for (const bright of lit.size ? [false, true] : [true]) {
    pen.beginPath()
    for (let i = 0; i < scene.count; i++) {
      if (lit.size && lit.has(i) !== bright) continue
      pen.moveTo(from[2 * i], from[2 * i + 1])
      pen.lineTo(to[2 * i], to[2 * i + 1])
    }
    ink(pen, { line: look.ink, width: lit.size && bright ? 1.6 : 1, alpha: alpha * few * (lit.size ? (bright ? 2 : 0.25) : 1) })
  }
}

function boundary(pen, view) {
  const { look, width, height } = view, { x, y, across: [nx, ny] } = decided(view)
  const far = width + height + Math.hypot(x, y)
  lines(pen, [[[x + ny * far, y - nx * far], [x - ny * far, y + nx * far]]])
  ink(pen, { line: look.ink, width: 1.6, alpha: 0.85, dash: [8, 6] })
}
