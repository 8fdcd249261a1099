// Actions on the points: load, looked, resize, draw, travel, play, whole, hover; each frame follows from the view's state.

import { pixelRatio, sized } from "../kit/canvas.js"
import { html, labelled, layMarks, markLayer } from "../kit/dom.js"
import { clamp } from "../kit/maths.js"
import { Camera } from "../kit/camera.js"
import { frame, legend, tip } from "./frame.js"
import { fits, follow, spots, tall } from "./places.js"
import { looks, passes, read } from "./scene.js"

const BEAT = 1000 // milliseconds from one layer to the next
const ARRIVAL = 700 // milliseconds in which a new picture of the same rows replaces the old one
const ZOOMS = [0.5, 400]

/** Load new data. The same rows move to their new places. */
export function load(view, data) {
  const old = view.scene
  const same = old && old.rows === data.rows
  const from = same && view.width && !view.still ? spots(view).slice() : null
  const scene = (view.scene = read(data, old))
  if (!same || old.colour !== scene.colour) view.hidden.clear()
  const other = !same || old.picture !== scene.picture
  const placed = other || old.places !== scene.places
  if (old?.dims !== scene.dims) view.camera = new Camera({ dims: scene.dims, range: ZOOMS })
  if (placed) {
    view.brush.points(scene.places)
    Object.assign(view, { before: null, arrived: 1 })
  }
  view.hovered = null
  if (other) Object.assign(view, { time: scene.layer, goal: null, playing: false })
  else if (scene.layer !== old.layer && scene.layer !== view.time) travel(view, scene.layer)
  view.time = clamp(view.time, scene.first, scene.last)
  marks(view)
  looked(view)
  if (!view.width || !(placed || !scene.star !== !old.star)) return
  measure(view)
  if (placed) whole(view)
  if (placed && from) arrive(view, from)
}

/** Let the points start from pixels (n, 2) of the picture that this one replaces; in space, they start in the plane of the screen. */
function arrive(view, from) {
  const { scene: { n, dims }, camera } = view, before = new Float32Array(n * dims)
  for (let i = 0; i < n; i++) before.set(camera.place(from[2 * i], from[2 * i + 1]), i * dims)
  view.brush.leave(before)
  Object.assign(view, { before, arrived: 0 })
}

/** Update after colours, choice or hidden points changed. */
export function looked(view) {
  const [order, found] = passes(view)
  view.passes = found
  view.brush.look(...looks(view.scene), order)
  legend(view, () => looked(view))
  draw(view)
}

export function resize(view) {
  const width = view.parts.stage.clientWidth
  if (!width || !view.scene) return
  const height = Math.round(clamp(Math.min(tall(view.scene, width), innerHeight - 390), 300, 600)), other = sized(view.canvas, width, height)
  if (other || view.width !== width) {
    Object.assign(view, { width, height })
    view.parts.stage.style.height = `${height}px`
    measure(view)
    whole(view)
  }
  draw(view)
}

function measure(view) {
  view.camera.frame(0, 0, view.width, view.height)
  view.fits = fits(view.scene, view.width, view.height)
}

/** Show everything again, in the first view. */
export function whole(view) {
  view.camera.look().own = false
  follow(view)
  draw(view)
}

export function draw(view) {
  view.frames.ask()
}

/** Draw a frame; return true while anything moves. */
export function tick(view, passed) {
  if (!view.scene || !view.width) return false
  if (view.arrived < 1) view.arrived = Math.min(view.arrived + passed / ARRIVAL, 1)
  if (view.arrived >= 1) view.before = null
  if (view.goal !== null) {
    const way = view.goal - view.time, step = view.still ? Infinity : passed / BEAT
    view.time = Math.abs(way) <= step ? view.goal : view.time + Math.sign(way) * step
    if (view.time === view.goal) rested(view)
  }
  follow(view)
  view.brush.draw(view, view.passes, pixelRatio())
  frame(view)
  tip(view)
  told(view)
  return view.goal !== null || view.arrived < 1
}

/** Tell Python the present layer, because the numbers next to the picture depend on it. */
function rested(view) {
  view.goal = null
  view.playing = false
  if (view.time !== view.heard) view.tell("layer", (view.heard = view.time))
}

/** Move the points to a layer; if the layer is not available, request it from Python. */
export function travel(view, layer) {
  const { scene } = view
  const wanted = clamp(layer, 0, scene.last)
  view.goal = Math.max(wanted, scene.first)
  if (wanted < scene.first && scene.more) {
    view.heard = view.goal // Python moves to the requested layer by itself
    view.tell("layer", wanted)
  }
  view.playing = false
  hover(view, null)
  draw(view)
}

export function play(view) {
  const { scene } = view
  if (view.playing) return travel(view, Math.ceil(view.time))
  if (view.time === scene.last) view.time = scene.first
  travel(view, scene.last)
  view.playing = true
}

export function hover(view, i) {
  if (view.hovered === i) return
  view.hovered = i
  view.canvas.classList.toggle("over", i !== null)
  draw(view)
}

/** Add a button for each layer, dim if its picture is not available. */
function marks(view) {
  const { scene, parts } = view, cells = scene.layers.length
  parts.track.hidden = scene.first === scene.last && !scene.more
  parts.play.hidden = scene.first === scene.last
  parts.modes.hidden = scene.dims === 3
  layMarks(parts, scene.layers.map((name, layer) => {
    const short = cells > 7 ? (layer ? String(layer) : "emb.") : name.split(",")[0]
    const button = html("button", short, { type: "button", title: name, disabled: layer < scene.first && !scene.more })
    if (layer < scene.first) Object.assign(button, { className: "absent", title: `${name}: not computed yet; click to compute it` })
    button.onclick = () => travel(view, layer)
    return button
  }))
  view.shown = null
}

/** Update title, slider and marks. */
function told(view) {
  const { scene, parts, time } = view
  const key = [time, view.playing, scene.mark].join()
  if (view.shown === key) return
  view.shown = key
  const [low, high] = [Math.floor(time), Math.ceil(time)].map(layer => scene.layers[layer])
  parts.title.textContent = `${scene.title}, ${low === high ? low : `from ${low} to ${high.split(",")[0]}`}`
  if (view.held !== parts.time) parts.time.value = time
  parts.time.setAttribute("aria-valuetext", low === high ? low : `between ${low} and ${high}`)
  parts.play.classList.toggle("playing", view.playing)
  labelled(parts.play, view.playing ? "Stop" : "Play through the layers")
  markLayer(parts, Math.round(time))
  const hint = scene.dims === 2 ? "draws an outline around points" : "turns the picture"
  labelled(view.canvas, `${parts.title.textContent}: ${scene.n} points. Dragging ${hint}. Plus and minus zoom, 0 shows all, left and right change the layer, Enter marks the points in the middle, Escape removes the outline.`)
}
