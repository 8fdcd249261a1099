// Everything around the points: frame (grid, names of the axes, outline, star), legend, tip (text of a point), resting. Texts are set as text, never as markup.

import { html } from "../kit/dom.js"
import { ticks } from "../kit/format.js"
import { clamp, mix } from "../kit/maths.js"
import { svg } from "../kit/svg.js"
import { now, place } from "./places.js"
import { FADED, WRONG } from "./scene.js"

/** Return the layer at which the points rest; null while they move. */
export function resting({ time, arrived }) {
  return Number.isInteger(time) && arrived >= 1 ? time : null
}

export function frame(view) {
  const { parts, scene, camera } = view
  const key = [camera.key, resting(view), scene.mark].join()
  if (view.framed !== key) {
    view.framed = key
    const [under, over] = scene.dims === 2 ? plane(view) : space(view)
    parts.under.replaceChildren(...under)
    parts.names.replaceChildren(...over)
  }
  parts.over.replaceChildren(...outline(view), ...pointed(view), ...star(view))
}

function plane(view) {
  const { scene, camera, width, height } = view
  const names = scene.axes[resting(view)] || ["", ""]
  const under = [], over = []
  for (const c of [0, 1]) {
    for (const [value, text] of ticks(camera.span(c), camera.scale)) {
      const at = Math.round(camera.along(c, value)) + 0.5
      under.push(svg("path", { d: c ? `M0 ${at}H${width}` : `M${at} 0V${height}` }))
      if (names[0] && (c ? at > 30 && at < height - 24 : at > 30 && at < width - 20)) {
        over.push(svg("text", c ? { x: 5, y: at + 4 } : { x: at, y: height - 6, "text-anchor": "middle" }, text))
      }
    }
  }
  if (names[0]) over.push(svg("text", { x: width - 6, y: height - 20, "text-anchor": "end", class: "name" }, `${names[0]} →`))
  if (names[1]) over.push(svg("text", { x: 5, y: 16, class: "name" }, `↑ ${names[1]}`))
  return [under, over]
}

/** Draw the edges of the box around all points, and the names of its sides. */
function space(view) {
  const { scene, camera } = view
  const corner = bits => camera.toScreen([0, 1, 2].map(c => camera.box[(bits >> c) & 1][c]))
  const names = scene.axes[resting(view)] || []
  const under = [], over = []
  for (let bits = 0; bits < 8; bits++) {
    for (const c of [0, 1, 2]) {
      if (bits & (1 << c)) continue
      const [a, b] = [corner(bits), corner(bits | (1 << c))]
      under.push(svg("path", { d: `M${a[0]} ${a[1]}L${b[0]} ${b[1]}` }))
      if (!bits && names[c]) over.push(svg("text", { x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2, "text-anchor": "middle", class: "name" }, names[c]))
    }
  }
  return [under, over]
}

function outline(view) {
  const { scene, camera, path } = view
  const drawn = path || (scene.outline && scene.outline.layer === resting(view) && scene.dims === 2 ? scene.outline.corners.map(at => camera.toScreen(at)) : null)
  return drawn && drawn.length > 1 ? [svg("path", { class: "outline", d: `M${drawn.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z` })] : []
}

function pointed(view) {
  if (view.hovered === null) return []
  const [cx, cy] = view.camera.toScreen(place(view, view.hovered))
  return [svg("circle", { class: "pointed", cx, cy, r: view.scene.size / 2 + 4 })]
}

function star(view) {
  const { scene, camera, width } = view
  const at = starred(view)
  if (!at) return []
  const [x, y] = camera.toScreen(at)
  const rays = Array.from({ length: 10 }, (_, k) => [x + (k % 2 ? 4.4 : 11) * Math.sin((k * Math.PI) / 5), y - (k % 2 ? 4.4 : 11) * Math.cos((k * Math.PI) / 5)])
  const anchor = x < 120 ? "start" : x > width - 120 ? "end" : "middle"
  return [
    svg("path", { class: "star", d: `M${rays.map(ray => ray.map(c => c.toFixed(1)).join(" ")).join("L")}Z` }),
    svg("text", { x, y: y < 40 ? y + 26 : y - 15, "text-anchor": anchor, class: "called" }, scene.star.name),
  ]
}

/** Return the present position of the star; null if one of the two layers does not have it. */
function starred(view) {
  const { scene } = view, [from, to, part] = now(view)
  const [a, b] = [part < 1 ? from : to, part ? to : from].map(layer => scene.star?.places[layer + scene.first])
  return a && b && view.arrived >= 1 ? a.map((value, c) => mix(value, b[c], part)) : null
}

/** Fill the legend: meaning and number of points of each colour and symbol; a click hides or shows these points. */
export function legend(view, changed) {
  const { scene, hidden, parts } = view
  const counts = new Map()
  for (let i = 0; i < scene.n; i++) {
    if (scene.marks[i] & FADED) continue
    counts.set(scene.of[i], (counts.get(scene.of[i]) || 0) + 1)
    if (scene.marks[i] & WRONG) counts.set("wrong", (counts.get("wrong") || 0) + 1)
  }
  const item = (key, name, colour, symbol) => {
    const button = html("button", "", { type: "button", title: `Hide or show: ${name}` })
    const sign = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" })
    sign.append(svg("path", key === "wrong" ? { d: SIGNS[0], fill: "none", stroke: colour, "stroke-width": 1.6 } : { d: SIGNS[symbol], fill: colour }))
    button.append(sign, html("bdi", name), ` (${(counts.get(key) || 0).toLocaleString("en")})`)
    button.setAttribute("aria-pressed", String(!hidden.has(key)))
    button.onclick = () => {
      hidden.has(key) ? hidden.delete(key) : hidden.add(key)
      changed()
    }
    return button
  }
  const { ink, muted } = scene.look
  const items = scene.groups.map((group, k) => item(k, group.name, scene.scale ? muted : group.colour, group.symbol))
  if (scene.rings) items.push(item("wrong", "wrong", ink, 0))
  if (scene.scale) {
    const bars = [0, 100].map(at => {
      const half = html("span", "", { className: "bar" })
      half.style.background = `linear-gradient(90deg, ${scene.scale.stops.join(", ")}) ${at}% 0 / 200% 100%`
      return half
    })
    const all = html("span", "", { className: "scale" }), [low, middle, high] = scene.scale.ticks
    all.append(`${scene.scale.title} ${low} `, bars[0], ` ${middle} `, bars[1], ` ${high}`)
    items.unshift(all)
  }
  parts.legend.replaceChildren(...items)
}

const SIGNS = [
  "M8 2.5a5.5 5.5 0 1 0 .01 0z",
  "M8 1l7 7-7 7-7-7z",
  "M3 3h10v10H3z",
  "M6 1.5h4V6h4.5v4H10v4.5H6V10H1.5V6H6z",
  "M4 1.5l4 4 4-4L14.5 4l-4 4 4 4-2.5 2.5-4-4-4 4L1.5 12l4-4-4-4z",
]

/** Show a card next to the point under the pointer. */
export function tip(view) {
  const { scene, parts, hovered, camera, width } = view
  parts.tip.hidden = hovered === null
  if (hovered === null) return
  const [x, y] = camera.toScreen(place(view, hovered))
  const name = k => scene.classes[k] ?? "unlabelled"
  const [row, text] = scene.words ? scene.words[hovered] : [null, null]
  const said = `${scene.labels[hovered] < 0 ? "" : `labelled ${name(scene.labels[hovered])}, `}said ${name(scene.said[hovered])} (${scene.sure[hovered]}%)`
  const rest = text === null ? "Click it to see its row below." : text
  parts.tip.replaceChildren(html("b", said), ...(rest ? [html("span", rest, { dir: "auto" })] : []), ...(row ? [html("small", row)] : []))
  parts.tip.style.left = `${clamp(x - 150, 4, Math.max(width - 304, 4))}px`
  Object.assign(parts.tip.style, y > view.height / 2 ? { top: "", bottom: `${view.height - y + 14}px` } : { top: `${y + 14}px`, bottom: "" })
}
