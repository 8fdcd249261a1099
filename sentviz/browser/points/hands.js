// hands: the actions of buttons, pointers, wheel and keys.

import { inside, nearest } from "../kit/geometry.js"
import { pressed, steer } from "../kit/hands.js"
import { clamp } from "../kit/maths.js"
import { resting } from "./frame.js"
import { place, spots } from "./places.js"
import { FADED, WRONG } from "./scene.js"
import { draw, hover, looked, play, travel, whole } from "./stage.js"

const NEAR = 14 // pixels within which the pointer finds a point

export function hands(view) {
  const { canvas, parts } = view
  parts.play.onclick = () => play(view)
  parts.in.onclick = () => zoom(1.4)
  parts.out.onclick = () => zoom(1 / 1.4)
  parts.whole.onclick = () => whole(view)
  for (const input of parts.modes.querySelectorAll("input")) input.onchange = () => (view.mode = canvas.dataset.mode = input.value)
  parts.time.oninput = () => {
    Object.assign(view, { goal: null, playing: false, held: parts.time })
    view.time = clamp(Number(parts.time.value), view.scene.first, view.scene.last)
    draw(view)
  }
  parts.time.onchange = () => {
    view.held = null
    view.shown = null
    travel(view, Math.round(Number(parts.time.value)))
  }
  const step = by => () => travel(view, (view.goal ?? Math.round(view.time)) + by)
  const steps = { ArrowLeft: step(-1), ArrowRight: step(1), ArrowDown: step(-1), ArrowUp: step(1) } // layers, whatever has the focus
  parts.time.onkeydown = event => pressed(event, steps)
  const zoom = steer(canvas, {
    camera: () => view.camera,
    moved: () => draw(view),
    whole: () => whole(view),
    hover: at => hover(view, at && pointAt(view, at)),
    press: () => {
      view.path = null
      if (view.goal !== null && view.scene.dims === 2) travel(view, Math.round(view.time))
    },
    drag: gesture => dragged(view, gesture),
    tap: at => clicked(view, at),
    drop: () => view.path && enclosed(view, view.path),
    release: () => {
      view.path = null
      draw(view)
    },
    twice: () => (view.scene.dims === 2 && view.mode !== "move" ? cleared(view) : whole(view)),
    keys: { ...steps, " ": () => play(view), Escape: () => cleared(view), Enter: () => middle(view) },
  })
}

function dragged(view, { at, from, by }) {
  const { camera, scene } = view
  hover(view, null)
  if (scene.dims === 3 || view.mode === "move") camera.drag(...by)
  else if (view.mode === "box") view.path = [from, [at[0], from[1]], at, [from[0], at[1]]]
  else {
    view.path ||= [from]
    const [x, y] = view.path.at(-1)
    if (Math.hypot(at[0] - x, at[1] - y) > 2) view.path.push(at)
  }
  draw(view)
}

/** Mark the rows inside an outline at once; Python lists them below. */
function enclosed(view, path) {
  const { scene, camera } = view
  if (path.length < 3 || resting(view) === null) return
  const at = spots(view), corners = path.map(([x, y]) => camera.toWorld(x, y))
  for (let i = 0; i < scene.n; i++) scene.marks[i] = (scene.marks[i] & WRONG) | (inside(at[2 * i], at[2 * i + 1], path) ? 0 : FADED)
  scene.outline = { layer: view.time, corners }
  looked(view)
  view.tell("outline", { picture: scene.picture, layer: view.time, corners })
}

/** Mark the points in the middle of the picture, half as wide and high, as a drag would; zoom decides how many these are. */
function middle(view) {
  const [left, right, top, low] = [view.width / 4, (3 * view.width) / 4, view.height / 4, (3 * view.height) / 4]
  if (view.scene.dims === 2) enclosed(view, [[left, top], [right, top], [right, low], [left, low]])
}

function cleared(view) {
  const { scene } = view
  if (!scene.outline && !scene.marks.some(mark => mark & FADED)) return
  scene.marks = scene.marks.map(mark => mark & WRONG)
  scene.outline = null
  looked(view)
  view.tell("outline", { picture: scene.picture, layer: view.time, corners: [] })
}

/** Choose the point at a click, and the points under it. */
function clicked(view, at) {
  const i = pointAt(view, at)
  if (i === null || view.scene.dims !== 2) return
  const [u, v] = view.camera.toScreen(place(view, i))
  enclosed(view, [[u - 3, v - 3], [u + 3, v - 3], [u + 3, v + 3], [u - 3, v + 3]])
}

/** Return the point nearest to a place of the screen, with preference for chosen points; null if none is near. */
function pointAt(view, [x, y]) {
  const { scene, hidden } = view
  if (!scene || !view.width || view.goal !== null) return null
  return nearest(spots(view), scene.n, x, y, NEAR, i => (hidden.has(scene.of[i]) ? Infinity : scene.marks[i] & FADED ? 6 : 0))
}
