// What happens to the points: load, looked, resize, draw, travel, play, whole, hover; each frame follows from the view's state.

import { pixelRatio, sized } from "../kit/canvas.js"
import { html, labelled, layMarks, markLayer } from "../kit/dom.js"
import { clamp } from "../kit/maths.js"
import { Camera } from "../kit/camera.js"
import { frame, legend, tip } from "./frame.js"
import { fits, follow, spots } from "./places.js"
import { looks, passes, read } from "./scene.js"

const BEAT = 1000 // milliseconds from a layer to the next
const ARRIVAL = 700 // milliseconds for another picture of the same rows to take this one's place
const ZOOMS = [0.5, 400]

/** Other data. The same rows glide to their new places. */
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

/** Let the points come from pixels (n, 2) of a picture whose place this one takes; in space they lie on the screen at first. */
function arrive(view, from) {
  const { scene: { n, dims }, camera } = view, before = new Float32Array(n * dims)
  for (let i = 0; i < n; i++) before.set(camera.place(from[2 * i], from[2 * i + 1]), i * dims)
  view.brush.leave(before)
  Object.assign(view, { before, arrived: 0 })
}

/** Colours, choice and what is hidden have changed. */
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
  const height = Math.round(clamp(Math.min(width * 0.74, innerHeight - 350), 340, 600)), other = sized(view.canvas, width, height)
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

/** Everything again, as it was looked at first. */
export function whole(view) {
  view.camera.look().own = false
  follow(view)
  draw(view)
}

export function draw(view) {
  view.frames.ask()
}

/** One frame; true while anything moves. */
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

/** At a layer: Python hears of it, for the numbers beside the picture are those of a layer. */
function rested(view) {
  view.goal = null
  view.playing = false
  if (view.time !== view.heard) view.tell("layer", (view.heard = view.time))
}

/** Let the points travel to a layer; Python is asked for one that is not at hand. */
export function travel(view, layer) {
  const { scene } = view
  const wanted = clamp(layer, 0, scene.last)
  view.goal = Math.max(wanted, scene.first)
  if (wanted < scene.first && scene.more) {
    view.heard = view.goal // Python is to go to the layer that it is asked for
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

/** A button for each layer, dim where its picture is not at hand. */
function marks(view) {
  const { scene, parts } = view, cells = scene.layers.length
  parts.track.hidden = scene.first === scene.last && !scene.more
  parts.play.hidden = scene.first === scene.last
  parts.modes.hidden = scene.dims === 3
  layMarks(parts, scene.layers.map((name, layer) => {
    const short = cells > 7 ? (layer ? String(layer) : "emb.") : name.split(",")[0]
    const button = html("button", short, { type: "button", title: name, disabled: layer < scene.first && !scene.more })
    if (layer < scene.first) Object.assign(button, { className: "absent", title: `${name}: not computed yet, a click asks for it` })
    button.onclick = () => travel(view, layer)
    return button
  }))
  view.shown = null
}

/** Title, slider and marks say where we are. */
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
  labelled(view.canvas, `${parts.title.textContent}: ${scene.n} points. Dragging ${hint}. Plus and minus zoom, 0 shows all, left and right change the layer, Escape takes the outline away.`)
}
