// One mounted picture: its clock, its camera, its hands.

const BEAT = 1000 // milliseconds from a layer to the next
const ARRIVAL = 700 // milliseconds for another picture of the same rows to take this one's place
const NEAR = 14 // pixels within which the pointer finds a point
const FAR = 4 // pixels from which a click is a drag

function mount(root) {
  const part = name => root.querySelector("." + name)
  const names = ["title", "legend", "modes", "in", "out", "whole", "stage", "under", "names", "over", "tip", "track", "play", "time", "marks"]
  const view = {
    host: part("points"),
    parts: Object.fromEntries(names.map(name => [name, part(name)])),
    tell: () => {}, // (name, value): what Python hears
    still: matchMedia("(prefers-reduced-motion: reduce)").matches,
    camera: {},
    hidden: new Set(),
    mode: "lasso",
    time: 0,
    goal: null, // the layer to travel to
    playing: false,
    before: null, // where points come from when another picture arrives
    arrived: 1,
    hovered: null,
    path: null, // the line that is being drawn, in pixels
    pointers: new Map(),
    frame: 0,
  }
  canvased(view, part("canvas"))
  const watch = new ResizeObserver(() => resize(view))
  watch.observe(view.parts.stage)
  hands(view)
  view.end = () => {
    watch.disconnect()
    cancelAnimationFrame(view.frame)
  }
  return view
}

function canvased(view, canvas) {
  view.canvas = canvas
  view.brush = brush(canvas)
  canvas.addEventListener("webglcontextlost", event => event.preventDefault())
  canvas.addEventListener("webglcontextrestored", () => {
    view.brush = brush(canvas)
    view.brush.points(view.scene.places)
    Object.assign(view, { before: null, arrived: 1 })
    looked(view)
  })
}

/** Other data. The same rows glide to their new places. */
function load(view, data) {
  const old = view.scene
  const same = old && old.rows === data.rows
  const from = same && view.width && !view.still ? spots(view).slice() : null
  const scene = (view.scene = read(data, old))
  if (!old || old.rows !== scene.rows) view.hidden.clear()
  if (old && old.colour !== scene.colour) view.hidden.clear()
  const other = !same || old.picture !== scene.picture
  const placed = other || old.places !== scene.places
  if (placed) {
    view.brush.points(scene.places)
    Object.assign(view, { before: null, arrived: 1 })
  }
  view.hovered = null
  if (other) Object.assign(view, { time: scene.layer, goal: null, playing: false })
  else if (scene.layer !== old.layer && scene.layer !== view.time) travel(view, scene.layer)
  view.time = Math.min(Math.max(view.time, scene.first), scene.last)
  marks(view)
  looked(view)
  if (!view.width || !(placed || !scene.star !== !old.star)) return
  measure(view)
  if (placed) whole(view)
  if (placed && from) arrive(view, from)
}

/** Let the points come from pixels (n, 2) of a picture whose place this one takes; in space they lie on the screen at first. */
function arrive(view, from) {
  const { scene, camera, turn, width, height } = view
  const before = new Float32Array(scene.n * scene.dims)
  for (let i = 0; i < scene.n; i++) {
    const [x, y] = [(from[2 * i] - width / 2) / camera.scale, (height / 2 - from[2 * i + 1]) / camera.scale]
    for (let c = 0; c < scene.dims; c++) before[i * scene.dims + c] = camera.centre[c] + x * turn[c] + y * turn[3 + c]
  }
  view.brush.leave(before)
  Object.assign(view, { before, arrived: 0 })
}

/** Colours, choice and what is hidden have changed. */
function looked(view) {
  const [order, found] = passes(view)
  view.passes = found
  view.brush.look(...looks(view.scene), order)
  legend(view)
  draw(view)
}

function resize(view) {
  const width = view.parts.stage.clientWidth
  if (!width || !view.scene) return
  const height = Math.round(Math.min(Math.max(width * 0.74, 340), 600)), ratio = window.devicePixelRatio || 1
  if (view.width !== width || view.canvas.width !== Math.round(width * ratio)) {
    Object.assign(view, { width, height })
    Object.assign(view.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    view.parts.stage.style.height = `${height}px`
    measure(view)
    whole(view)
  }
  draw(view)
}

// ---- the clock

/** A frame soon; more of them while anything moves. */
function draw(view) {
  if (!view.frame) view.frame = requestAnimationFrame(now => tick(view, now))
}

function tick(view, now) {
  view.frame = 0
  if (!view.scene || !view.width) return
  const passed = view.clock ? Math.min(now - view.clock, 100) : 16
  if (view.arrived < 1) view.arrived = Math.min(view.arrived + passed / ARRIVAL, 1)
  if (view.arrived >= 1) view.before = null
  if (view.goal !== null) {
    const way = view.goal - view.time, step = view.still ? Infinity : passed / BEAT
    view.time = Math.abs(way) <= step ? view.goal : view.time + Math.sign(way) * step
    if (view.time === view.goal) rested(view)
  }
  follow(view)
  view.brush.draw(view, view.passes, window.devicePixelRatio || 1)
  frame(view)
  tip(view)
  told(view)
  view.clock = view.goal !== null || view.arrived < 1 ? now : 0
  if (view.clock) draw(view)
}

/** At a layer: Python hears of it, for the numbers beside the picture are those of a layer. */
function rested(view) {
  view.goal = null
  view.playing = false
  if (view.time !== view.heard) view.tell("layer", (view.heard = view.time))
}

/** Let the points travel to a layer; Python is asked for one that is not at hand. */
function travel(view, layer) {
  const { scene } = view
  const wanted = Math.min(Math.max(layer, 0), scene.last)
  view.goal = Math.max(wanted, scene.first)
  if (wanted < scene.first && scene.more) {
    view.heard = view.goal // Python is to go to the layer that it is asked for
    view.tell("layer", wanted)
  }
  view.playing = false
  hover(view, null)
  draw(view)
}

function play(view) {
  const { scene } = view
  if (view.playing) return travel(view, Math.ceil(view.time))
  if (view.time === scene.last) view.time = scene.first
  travel(view, scene.last)
  view.playing = true
}

/** A button for each layer, dim where its picture is not at hand. */
function marks(view) {
  const { scene, parts } = view
  parts.track.hidden = scene.first === scene.last && !scene.more
  parts.play.hidden = scene.first === scene.last
  parts.modes.hidden = scene.dims === 3
  parts.time.max = scene.last
  const cells = scene.last + 1
  parts.time.style.width = `calc(${(100 * scene.last) / cells}% + 16px)`
  parts.time.style.marginLeft = `calc(${50 / cells}% - 8px)`
  parts.marks.replaceChildren(
    ...scene.layers.map((name, layer) => {
      const short = cells > 7 ? (layer ? String(layer) : "emb.") : name.split(",")[0]
      const button = html("button", short, { type: "button", title: name, disabled: layer < scene.first && !scene.more })
      if (layer < scene.first) Object.assign(button, { className: "absent", title: `${name}: not computed yet, a click asks for it` })
      button.onclick = () => travel(view, layer)
      return button
    })
  )
  view.shown = null
}

/** Title, slider and marks say where we are. */
function told(view) {
  const { scene, parts, time } = view
  if (view.shown === [time, view.playing, scene.mark].join()) return
  view.shown = [time, view.playing, scene.mark].join()
  const [low, high] = [Math.floor(time), Math.ceil(time)].map(layer => scene.layers[layer])
  parts.title.textContent = `${scene.title}, ${low === high ? low : `from ${low} to ${high.split(",")[0]}`}`
  if (view.held !== parts.time) parts.time.value = time
  parts.time.setAttribute("aria-valuetext", low === high ? low : `between ${low} and ${high}`)
  parts.play.classList.toggle("playing", view.playing)
  parts.play.setAttribute("aria-label", view.playing ? "Stop" : "Play through the layers")
  for (const [layer, button] of [...parts.marks.children].entries()) {
    layer === Math.round(time) ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current")
  }
  const hint = scene.dims === 2 ? "draws an outline around points" : "turns the picture"
  view.canvas.setAttribute("aria-label", `${parts.title.textContent}: ${scene.n} points. Dragging ${hint}. Plus and minus zoom, 0 shows all, left and right change the layer, Escape takes the outline away.`)
}
