// One mounted map: its state, its drawing, its hands.

const views = new WeakMap()

export default function (component) {
  const { parentElement, data, setStateValue } = component
  let view = views.get(parentElement)
  if (!view) views.set(parentElement, (view = mount(parentElement)))
  view.tell = setStateValue
  const other = view.bytes !== data && load(view, data)
  dress(view)
  if (other && view.search.value) find(view)
  return () => {
    view.end()
    views.delete(parentElement)
  }
}

function mount(root) {
  const part = name => root.querySelector(name)
  const view = {
    canvas: part("canvas"),
    host: part(".map"),
    search: part("input"),
    parts: Object.fromEntries(["found", "low", "bar", "high", "query", "arrow", "key", "value", "contrast", "in", "out", "whole", "next", "previous"].map(name => [name, part("." + name)])),
    camera: { x: 0, y: 0, zoom: 0 },
    root: false,
    matches: [],
    match: null,
    chosen: null,
    cursor: null,
    pointers: new Map(),
    frame: 0,
    timer: 0,
    asked: "",
  }
  const watch = new ResizeObserver(() => resize(view))
  watch.observe(view.host)
  const scrolled = event => {
    if (!event.composedPath().includes(view.canvas)) view.scrolling = event.timeStamp
  }
  document.addEventListener("wheel", scrolled, { passive: true, capture: true })
  hands(view)
  view.end = () => {
    watch.disconnect()
    document.removeEventListener("wheel", scrolled, { capture: true })
    cancelAnimationFrame(view.frame)
    clearTimeout(view.timer)
  }
  return view
}

/** A new map; what was looked at stays where the text and its units are the same. True where they are others. */
function load(view, bytes) {
  const before = view.head?.id
  view.bytes = bytes
  view.head = decode(bytes)
  view.pictures = null
  if (before !== view.head.id) {
    Object.assign(view, { chosen: null, cursor: null, matches: [], match: null, asked: "", camera: { x: 0, y: 0, zoom: 0 } })
  }
  view.canvas.setAttribute("aria-label", `${view.head.title}, ${view.head.labels.length} ${view.head.kind} a side. Arrow keys move, Enter selects, plus and minus zoom, 0 shows the whole map.`)
  read(view)
  return before !== view.head.id
}

/** Colours of the page, and of the map for a light or a dark one. */
function dress(view) {
  const style = getComputedStyle(view.host)
  const pen = view.canvas.getContext("2d")
  const solid = (name, other) => {
    pen.fillStyle = other
    pen.fillStyle = style.getPropertyValue(name).trim() || other
    return pen.fillStyle
  }
  const ground = solid("--st-background-color", "#ffffff"), ink = solid("--st-text-color", "#31333f")
  const dark = /^#[0-9a-f]{6}$/.test(ground) && channels(ground).reduce((sum, part, i) => sum + part * [0.299, 0.587, 0.114][i], 0) < 110
  view.look = { ground, ink, muted: dark ? "#a3a8b8" : "#6b7080", accent: solid("--st-primary-color", "#1b62a5") }
  view.stops = view.head.palettes[dark ? "dark" : "light"][view.head.signed ? "diverging" : "sequential"]
  view.font = `12px ${style.fontFamily || "sans-serif"}`
  view.pictures = view.head.layers.map(layer => picture(layer, view.head, view.stops, view.root))
  resize(view)
}

function legend({ head, parts, stops, root, camera, box }) {
  const { peak } = drawn(head, camera, box).at(-1)
  parts.low.textContent = head.signed ? shown(-peak) : "0"
  parts.high.textContent = shown(peak)
  parts.bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`
  parts.bar.title = root ? "√ scale: the middle of a side is a quarter of its end" : "even scale"
  parts.contrast.setAttribute("aria-pressed", String(root))
}

function resize(view) {
  const width = view.host.clientWidth
  if (!width || !view.head) return
  const pen = view.canvas.getContext("2d")
  pen.font = view.font
  const whole = !view.box || view.camera.zoom <= view.box.whole * 1.001
  view.width = width
  view.box = measure(view.head, width, text => pen.measureText(text).width)
  const ratio = window.devicePixelRatio || 1
  const [w, h] = [Math.round(width * ratio), Math.round(view.box.height * ratio)]
  if (view.canvas.width !== w || view.canvas.height !== h) {
    view.canvas.width = w
    view.canvas.height = h
    view.canvas.style.height = `${view.box.height}px`
  }
  if (whole) view.camera.zoom = view.box.whole
  moved(view)
}

/** After every change of what is seen. */
function moved(view) {
  const { camera, box, head, canvas, parts } = view
  clamp(camera, box, head.labels.length)
  const zoomed = camera.zoom > box.whole * 1.001
  canvas.classList.toggle("zoomed", zoomed)
  parts.out.disabled = parts.whole.disabled = !zoomed
  parts.in.disabled = camera.zoom >= LARGEST * 0.999
  legend(view)
  cancelAnimationFrame(view.frame)
  view.frame = requestAnimationFrame(() => paint(view))
  clearTimeout(view.timer)
  if (head.layers[0].block > 1) view.timer = setTimeout(() => ask(view), 300)
}

/** Ask for the exact weights of what is in view, where only averages are here. */
function ask(view) {
  const { camera, box, head } = view
  const count = head.labels.length
  const [top, bottom] = span(camera.y, box.high, camera.zoom, count)
  const [left, right] = span(camera.x, box.wide, camera.zoom, count)
  if (Math.max(bottom - top, right - left) > 300) return
  const here = head.layers.some(l => l.block === 1 && l.row <= top && l.column <= left && l.row + l.rows >= bottom && l.column + l.columns >= right)
  const more = (first, last) => [Math.max(first - 60, 0), Math.min(last + 60, count)]
  const at = [...more(top, bottom), ...more(left, right)]
  if (here || view.asked === at.join()) return
  view.asked = at.join()
  view.tell("window", { id: head.id, at })
}

function read(view) {
  const { head, cursor, chosen, parts } = view
  const cell = cursor || chosen
  parts.arrow.textContent = cell ? " → " : "Point at a cell, or click it for its arithmetic."
  parts.query.textContent = cell ? `“${head.labels[cell[0]]}” (${cell[0] + 1})` : ""
  parts.key.textContent = cell ? `“${head.labels[cell[1]]}” (${cell[1] + 1})` : ""
  const [weight, block] = cell ? weightAt(head, ...cell) : [0, 1]
  parts.value.textContent = cell ? ` ≈ ${shown(weight)}${block > 1 ? `, mean of ${block} × ${block} units` : ""}` : ""
}

function point(view, cell) {
  view.cursor = cell
  read(view)
  moved(view)
}

function choose(view, cell) {
  view.chosen = cell
  read(view)
  moved(view)
  view.tell("cell", cell ? { id: view.head.id, at: cell } : null)
}

function zoom(view, factor, px, py) {
  const { box } = view
  zoomAt(view.camera, factor, px ?? box.wide / 2, py ?? box.high / 2, box, view.head.labels.length)
  moved(view)
}

/** Labels that hold what is searched for. */
function find(view) {
  const wanted = view.search.value.trim().toLowerCase()
  view.matches = wanted ? view.head.labels.flatMap((label, i) => (label.toLowerCase().includes(wanted) ? [i] : [])) : []
  view.match = null
  if (view.matches.length) jump(view, 0)
  else {
    view.parts.found.textContent = wanted ? "not here" : ""
    view.parts.next.disabled = view.parts.previous.disabled = true
    if (view.box) moved(view)
  }
}

function jump(view, step) {
  const { matches, parts } = view
  if (!matches.length) return
  const at = (matches.indexOf(view.match) + step + matches.length) % matches.length
  const place = view.match === null ? 0 : at
  view.match = matches[place]
  parts.found.textContent = `${place + 1} of ${matches.length}`
  parts.next.disabled = parts.previous.disabled = matches.length < 2
  if (!view.box) return
  if (view.box.whole < READABLE - 3) centre(view.camera, view.box, view.head.labels.length, [view.match, view.match])
  moved(view)
}

function hands(view) {
  const { canvas, search, parts, pointers } = view
  search.oninput = () => find(view)
  search.onkeydown = event => {
    if (event.key === "Enter") jump(view, event.shiftKey ? -1 : 1)
    if (event.key === "Escape") {
      search.value = ""
      find(view)
    }
  }
  parts.next.disabled = parts.previous.disabled = true
  parts.next.onclick = () => jump(view, 1)
  parts.previous.onclick = () => jump(view, -1)
  parts.in.onclick = () => zoom(view, 1.6)
  parts.out.onclick = () => zoom(view, 1 / 1.6)
  parts.whole.onclick = () => zoom(view, 0)
  parts.contrast.onclick = () => {
    view.root = !view.root
    dress(view)
  }
  read(view)

  canvas.onwheel = event => {
    if (event.timeStamp - (view.scrolling || -1000) < 250) return void (view.scrolling = event.timeStamp) // the page is scrolling past
    const away = event.deltaY > 0 && view.camera.zoom <= view.box.whole * 1.001
    if (away && !event.ctrlKey) return
    event.preventDefault()
    const [px, py] = place(event)
    const lines = event.deltaMode === 1 ? 16 : 1
    zoom(view, Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), px - view.box.left, py - view.box.top)
  }
  canvas.onpointerdown = event => {
    if (event.button) return
    canvas.focus({ preventScroll: true })
    canvas.setPointerCapture(event.pointerId)
    pointers.set(event.pointerId, place(event))
    view.drag = pointers.size === 1 ? { from: place(event), far: false, mini: onMini(view, place(event)) } : null
    if (view.drag?.mini) lookAt(view, place(event))
  }
  canvas.onpointermove = event => {
    const here = place(event), before = pointers.get(event.pointerId)
    if (!before) return point(view, cellAt(view.camera, view.box, view.head.labels.length, ...here))
    if (pointers.size === 2) pinch(view, event.pointerId, here)
    else if (view.drag?.mini) lookAt(view, here)
    else if (view.drag) {
      view.drag.far ||= Math.hypot(here[0] - view.drag.from[0], here[1] - view.drag.from[1]) > 4
      if (view.drag.far) {
        canvas.classList.add("moving")
        view.camera.x -= (here[0] - before[0]) / view.camera.zoom
        view.camera.y -= (here[1] - before[1]) / view.camera.zoom
        moved(view)
      }
    }
    pointers.set(event.pointerId, here)
  }
  canvas.onpointerup = event => {
    const tap = view.drag && !view.drag.far && !view.drag.mini
    const cell = tap && cellAt(view.camera, view.box, view.head.labels.length, ...place(event))
    if (cell) choose(view, cell)
    release(event)
  }
  const release = event => {
    pointers.delete(event.pointerId)
    view.drag = null
    canvas.classList.remove("moving")
  }
  canvas.onpointercancel = release
  canvas.onpointerleave = () => !pointers.size && view.box && point(view, null)
  canvas.ondblclick = event => {
    const [px, py] = place(event)
    zoom(view, 2, px - view.box.left, py - view.box.top)
  }
  canvas.onkeydown = event => keys(view, event)

  function place(event) {
    const edge = canvas.getBoundingClientRect()
    return [event.clientX - edge.left, event.clientY - edge.top]
  }
}

function onMini({ box, camera }, [px, py]) {
  const { x, y, size } = miniBox(box)
  return camera.zoom > box.whole * 1.05 && px >= x && py >= y && px <= x + size && py <= y + size
}

/** Put the middle of the view where the minimap is touched. */
function lookAt(view, [px, py]) {
  const { box, camera, head } = view
  const { x, y, size } = miniBox(box)
  camera.x = ((px - x) / size) * head.labels.length - box.wide / camera.zoom / 2
  camera.y = ((py - y) / size) * head.labels.length - box.high / camera.zoom / 2
  moved(view)
}

function pinch(view, id, here) {
  const { pointers, box, camera } = view
  const [other] = [...pointers].filter(([key]) => key !== id).map(([, at]) => at)
  const before = pointers.get(id)
  const apart = at => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1
  camera.x -= (here[0] - before[0]) / 2 / camera.zoom
  camera.y -= (here[1] - before[1]) / 2 / camera.zoom
  zoom(view, apart(here) / apart(before), (here[0] + other[0]) / 2 - box.left, (here[1] + other[1]) / 2 - box.top)
}

function keys(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const count = view.head.labels.length
  const far = event.shiftKey ? 10 : 1
  const steps = { ArrowUp: [-far, 0], ArrowDown: [far, 0], ArrowLeft: [0, -far], ArrowRight: [0, far] }
  const step = steps[event.key]
  if (step) {
    const inside = i => Math.min(Math.max(i, 0), count - 1)
    const from = view.cursor || view.chosen
    view.cursor = from ? [inside(from[0] + step[0]), inside(from[1] + step[1])] : [Math.floor(Math.max(view.camera.y, 0)), Math.floor(Math.max(view.camera.x, 0))]
    reveal(view.camera, view.box, count, view.cursor)
    point(view, view.cursor)
  } else if (event.key === "Enter" || event.key === " ") {
    if (view.cursor) choose(view, view.cursor)
  } else if (event.key === "+" || event.key === "=" || event.key === "-") {
    const { camera, box, cursor } = view
    const at = cursor && [(cursor[1] + 0.5 - camera.x) * camera.zoom, (cursor[0] + 0.5 - camera.y) * camera.zoom]
    zoom(view, event.key === "-" ? 1 / 1.4 : 1.4, ...(at || []))
  } else if (event.key === "0") zoom(view, 0)
  else if (event.key === "Escape") choose(view, null)
  else return
  event.preventDefault()
}
