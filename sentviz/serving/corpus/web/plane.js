// Draw the points of a plane. The server sends a sample of the points in view, and a new sample when the view stops moving.

import { Camera } from "../../../browser/kit/camera.js"
import { live, pixelRatio, sized } from "../../../browser/kit/canvas.js"
import { steer } from "../../../browser/kit/hands.js"

const REST = 120 // milliseconds without movement before points are requested
const DOT = 2, NEAR = 6, STEP = 60 // pixels: size of a point, distance at which a click selects it, step of an arrow key

/** Unpack a response: number of points sent and in view, x and y, positions, classes. */
export function unpacked(buffer) {
  const [n, there] = new Uint32Array(buffer, 0, 2)
  return {
    n,
    there,
    places: new Float32Array(buffer, 8, 2 * n),
    ids: new Uint32Array(buffer, 8 + 8 * n, n),
    said: new Uint8Array(buffer, 8 + 12 * n, n),
  }
}

/** Return the point nearest to a pixel; -1 if none is near. */
export function nearest(screen, n, [x, y], near = NEAR) {
  let best = -1, least = near * near
  for (let k = 0; k < n; k++) {
    const d = (screen[2 * k] - x) ** 2 + (screen[2 * k + 1] - y) ** 2
    if (d <= least) [best, least] = [k, d]
  }
  return best
}

/** @param {ParentNode} root */
export function mount(root) {
  const [stage, canvas, said, row] = [".stage", "canvas", ".said", ".row"].map(name => root.querySelector(name))
  const camera = new Camera({ range: [0.5, 20_000] })
  const view = { show, tell() {} }
  let data = null, found = null, screen = new Float32Array(0), timer = 0, turn = 0

  function show(given) {
    data = given
    root.querySelector(".title").textContent = data.title
    root.querySelector(".legend").replaceChildren(...data.classes.map(({ name, colour }) => {
      const [item, dot] = [document.createElement("span"), document.createElement("i")]
      dot.style.background = colour
      item.append(dot, name)
      return item
    }))
    resize()
  }

  function resize() {
    sized(canvas, stage.clientWidth, stage.clientHeight)
    camera.frame(0, 0, stage.clientWidth, stage.clientHeight)
    if (data && !camera.own) whole()
    else moved()
  }

  function whole() {
    camera.fit(data.box.map(([low]) => low), data.box.map(([, high]) => high), [16, 16])
    moved()
  }

  function moved() {
    view.frames.ask()
    clearTimeout(timer)
    timer = setTimeout(ask, REST)
  }

  async function ask() {
    const mine = ++turn, [[x0, x1], [y0, y1]] = [camera.span(0), camera.span(1)]
    try {
      const answer = await fetch(`points?${new URLSearchParams({ x0, x1, y0, y1 })}`)
      if (!answer.ok) throw new Error(answer.statusText)
      const got = unpacked(await answer.arrayBuffer())
      if (mine !== turn) return
      found = got
      screen = new Float32Array(2 * got.n)
      said.textContent = `${got.n.toLocaleString("en")} of the ${got.there.toLocaleString("en")} points in view are shown${got.n < got.there ? ", drawn at random" : ""}.`
      view.frames.ask()
    } catch {
      if (mine === turn) said.textContent = "The server has stopped. Start `sentviz points` again."
    }
  }

  function draw() {
    const pen = canvas.getContext("2d"), ratio = pixelRatio()
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.clearRect(0, 0, camera.width, camera.height)
    if (!found) return false
    camera.project(found.places, found.n, screen)
    pen.globalAlpha = 0.7
    for (let i = 0; i < found.n; i++) { // in random order, so that no class covers another
      pen.fillStyle = data.classes[found.said[i]].colour
      pen.fillRect(screen[2 * i] - DOT / 2, screen[2 * i + 1] - DOT / 2, DOT, DOT)
    }
    return false
  }

  async function tap(at) {
    if (found) camera.project(found.places, found.n, screen) // the picture may not have been drawn since the points or the view changed
    const k = found ? nearest(screen, found.n, at) : -1
    row.textContent = k < 0 ? "" : (await (await fetch(`row?point=${found.ids[k]}`)).json()).text
  }

  live(view, stage, draw, resize, () => clearTimeout(timer))
  const by = (dx, dy) => () => {
    camera.pan(dx, dy)
    moved()
  }
  const keys = { ArrowLeft: by(STEP, 0), ArrowRight: by(-STEP, 0), ArrowUp: by(0, STEP), ArrowDown: by(0, -STEP) }
  steer(canvas, { camera: () => camera, moved, whole, hover: () => {}, tap, keys, wheels: () => true })
  return view
}
