// Pointer, wheel and keys.

function hands(view) {
  const { canvas, parts } = view
  parts.play.onclick = () => play(view)
  parts.in.onclick = () => zoomed(view, 1.4)
  parts.out.onclick = () => zoomed(view, 1 / 1.4)
  parts.whole.onclick = () => (whole(view), draw(view))
  for (const input of parts.modes.querySelectorAll("input")) input.onchange = () => (view.mode = canvas.dataset.mode = input.value)
  parts.time.oninput = () => {
    Object.assign(view, { goal: null, playing: false, held: parts.time })
    view.time = Math.min(Math.max(Number(parts.time.value), view.scene.first), view.scene.last)
    draw(view)
  }
  parts.time.onchange = () => {
    view.held = null
    view.shown = null
    travel(view, Math.round(Number(parts.time.value)))
  }
  parts.time.onkeydown = event => stepped(view, event)
  canvas.onkeydown = event => stepped(view, event) || keys(view, event)
  pointer(view)
  canvas.onwheel = event => {
    const focused = canvas.getRootNode().activeElement === canvas
    if (!event.ctrlKey && !focused) return // the page scrolls past; a click on the picture makes the wheel zoom
    event.preventDefault()
    zoomed(view, Math.exp(-event.deltaY * (event.deltaMode === 1 ? 16 : 1) * (event.ctrlKey ? 0.01 : 0.002)), ...spot(view, event))
  }
}

function zoomed(view, ...how) {
  zoom(view, ...how)
  draw(view)
}

function spot({ canvas }, event) {
  const edge = canvas.getBoundingClientRect()
  return [event.clientX - edge.left, event.clientY - edge.top]
}

function pointer(view) {
  const { canvas, pointers } = view
  let drag = null
  canvas.onpointerdown = event => {
    if (event.button) return
    canvas.focus({ preventScroll: true })
    canvas.setPointerCapture(event.pointerId)
    const at = spot(view, event)
    pointers.set(event.pointerId, at)
    drag = pointers.size > 1 ? null : { from: at, last: at, far: false }
    view.path = null
    if (view.goal !== null && view.scene.dims === 2) travel(view, Math.round(view.time))
  }
  canvas.onpointermove = event => {
    const at = spot(view, event)
    if (pointers.size === 2 && pointers.has(event.pointerId)) return pinch(view, event.pointerId, at)
    if (!drag) return pointers.size || hover(view, event.pointerType === "touch" ? null : pointAt(view, ...at))
    drag.far ||= Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) > FAR
    if (drag.far) dragged(view, drag, at)
    drag.last = at
  }
  canvas.onpointerup = event => {
    pointers.delete(event.pointerId)
    if (drag && !drag.far) clicked(view, ...spot(view, event))
    else if (drag && view.path) enclosed(view, view.path)
    drag = view.path = null
    draw(view)
  }
  canvas.onpointercancel = event => {
    pointers.delete(event.pointerId)
    drag = view.path = null
    draw(view)
  }
  canvas.onpointerleave = () => drag || hover(view, null)
  canvas.ondblclick = () => (view.scene.dims === 2 && view.mode !== "move" ? cleared(view) : (whole(view), draw(view)))
}

function dragged(view, drag, at) {
  const { camera, scene } = view
  const [dx, dy] = [at[0] - drag.last[0], at[1] - drag.last[1]]
  hover(view, null)
  if (scene.dims === 3) {
    camera.yaw += dx * 0.008
    camera.pitch = Math.min(Math.max(camera.pitch + dy * 0.008, -1.5), 1.5)
  } else if (view.mode === "move") {
    Object.assign(camera, { own: true, centre: [camera.centre[0] - dx / camera.scale, camera.centre[1] + dy / camera.scale] })
  } else if (view.mode === "box") {
    view.path = [drag.from, [at[0], drag.from[1]], at, [drag.from[0], at[1]]]
  } else {
    view.path ||= [drag.from]
    const [x, y] = view.path.at(-1)
    if (Math.hypot(at[0] - x, at[1] - y) > 2) view.path.push(at)
  }
  draw(view)
}

function pinch(view, id, at) {
  const before = [...view.pointers.values()]
  view.pointers.set(id, at)
  const after = [...view.pointers.values()]
  const apart = ([[x, y], [u, v]]) => Math.max(Math.hypot(x - u, y - v), 1)
  zoomed(view, apart(after) / apart(before), (after[0][0] + after[1][0]) / 2, (after[0][1] + after[1][1]) / 2)
}

/** The rows inside are marked at once; Python shows them below. */
function enclosed(view, path) {
  const { scene } = view
  if (path.length < 3 || resting(view) === null) return
  const at = spots(view), corners = path.map(([x, y]) => back(view, x, y))
  for (let i = 0; i < scene.n; i++) scene.marks[i] = (scene.marks[i] & WRONG) | (inside(at[2 * i], at[2 * i + 1], path) ? 0 : FADED)
  scene.outline = { layer: view.time, corners }
  looked(view)
  view.tell("outline", { picture: scene.picture, layer: view.time, corners })
}

function cleared(view) {
  const { scene } = view
  if (!scene.outline && !scene.marks.some(mark => mark & FADED)) return
  scene.marks = scene.marks.map(mark => mark & WRONG)
  scene.outline = null
  looked(view)
  view.tell("outline", { picture: scene.picture, layer: view.time, corners: [] })
}

/** A click on a point chooses it and what lies under it. */
function clicked(view, x, y) {
  const i = pointAt(view, x, y)
  if (i === null || view.scene.dims !== 2) return
  const [u, v] = pixel(view, place(view, i))
  enclosed(view, [[u - 3, v - 3], [u + 3, v - 3], [u + 3, v + 3], [u - 3, v + 3]])
}

/** The point nearest to a place of the screen; null where none is near. */
function pointAt(view, x, y) {
  const { scene, hidden } = view
  if (!scene || !view.width || view.goal !== null) return null
  const at = spots(view)
  let best = null, least = NEAR
  for (let i = 0; i < scene.n; i++) {
    if (hidden.has(scene.of[i])) continue
    const far = Math.hypot(at[2 * i] - x, at[2 * i + 1] - y) + (scene.marks[i] & FADED ? 6 : 0)
    if (far < least) [best, least] = [i, far]
  }
  return best
}

function hover(view, i) {
  if (view.hovered === i) return
  view.hovered = i
  view.canvas.classList.toggle("over", i !== null)
  draw(view)
}

/** Left and right are layers, wherever the keyboard is; true where that was meant. */
function stepped(view, event) {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key]
  if (!by || event.ctrlKey || event.metaKey || event.altKey) return false
  event.preventDefault()
  travel(view, (view.goal ?? Math.round(view.time)) + by)
  return true
}

function keys(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const acts = {
    " ": () => play(view),
    Escape: () => cleared(view),
    "+": () => zoomed(view, 1.4),
    "=": () => zoomed(view, 1.4),
    "-": () => zoomed(view, 1 / 1.4),
    0: () => (whole(view), draw(view)),
  }
  if (!acts[event.key]) return
  event.preventDefault()
  acts[event.key]()
}
