// mount: one map, its state, its hands, and what it says below.

import { Camera } from "../../../sentviz/browser/kit/camera.js"
import { live, sized } from "../../../sentviz/browser/kit/canvas.js"
import { theme } from "../../../sentviz/browser/kit/colour.js"
import { labelled, parts } from "../../../sentviz/browser/kit/dom.js"
import { weight } from "../../../sentviz/browser/kit/format.js"
import { steer } from "../../../sentviz/browser/kit/hands.js"
import { clamp } from "../../../sentviz/browser/kit/maths.js"
import { READABLE, miniBox, paint } from "./paint.js"
import { decode, drawn, missing, picture, weightAt } from "./tiles.js"

const LARGEST = 44, HIGHEST = 520 // pixels of a unit, and of the map
const PARTS = ["found", "low", "bar", "high", "query", "arrow", "key", "value", "contrast", "in", "out", "whole", "next", "previous"]

export function mount(root) {
  const view = {
    canvas: root.querySelector("canvas"),
    host: root.querySelector(".map"),
    search: root.querySelector("input"),
    parts: parts(root, PARTS),
    lasting: ["cell", "window"],
    root: false,
    matches: [],
    match: null,
    chosen: null,
    cursor: null,
    timer: 0,
    asked: "",
    show: bytes => show(view, bytes),
  }
  const scrolled = event => {
    if (!event.composedPath().includes(view.canvas)) view.scrolling = event.timeStamp
  }
  document.addEventListener("wheel", scrolled, { passive: true, capture: true })
  live(view, view.host, () => paint(view), () => resize(view), () => {
    document.removeEventListener("wheel", scrolled, { capture: true })
    clearTimeout(view.timer)
  })
  hands(view)
  return view
}

function show(view, bytes) {
  const other = view.bytes !== bytes && load(view, bytes)
  dress(view)
  if (other && view.search.value) find(view)
}

/** A new map; what was looked at stays where the text and its units are the same. True where they are others. */
function load(view, bytes) {
  const before = view.head?.id, head = decode(bytes), count = head.labels.length
  Object.assign(view, { bytes, head, pictures: null })
  if (before !== head.id) {
    const camera = new Camera({ up: false, bounds: [[0, count], [0, count]] })
    Object.assign(view, { camera, chosen: null, cursor: null, matches: [], match: null, asked: "", width: 0 })
  }
  labelled(view.canvas, `${head.title}, ${count} ${head.kind} per side. Arrow keys move, Enter selects, plus and minus zoom, 0 shows the whole map.`)
  read(view)
  return before !== head.id
}

/** Colours of the page, and of the map for a light or a dark one. */
function dress(view) {
  const { head } = view
  view.look = theme(view.host)
  view.stops = head.palettes[view.look.dark ? "dark" : "light"][head.signed ? "signed" : "sequential"]
  view.font = `12px ${view.look.family}`
  view.pictures = head.layers.map(layer => picture(layer, head, view.stops, view.root))
  resize(view)
}

function legend({ head, parts, stops, root, camera }) {
  const { peak } = drawn(head, camera).at(-1)
  parts.low.textContent = head.signed ? weight(-peak) : "0"
  parts.high.textContent = weight(peak)
  parts.bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`
  parts.bar.title = root ? "Square-root scale: the middle colour stands for a quarter of the largest weight" : "Linear scale"
  parts.contrast.setAttribute("aria-pressed", String(root))
}

/** Gutters as wide as the labels want; the map in the rest, whole unless it was zoomed. */
function resize(view) {
  const { head, host, camera } = view, width = host.clientWidth
  if (!width || !head) return
  const pen = view.canvas.getContext("2d"), count = head.labels.length
  pen.font = view.font
  const longest = head.labels.slice(0, 3000).reduce((most, label) => Math.max(most, pen.measureText(label.slice(0, 24)).width), 0)
  const left = clamp(longest + 18, 52, Math.min(150, width * 0.3)), top = clamp(longest * 0.72 + 22, 52, 112)
  const wide = Math.max(width - left - 2, 60), fitted = Math.min(wide / count, HIGHEST / count, LARGEST)
  const high = clamp(fitted * count, 60, HIGHEST), whole = !view.width || !camera.zoomed
  view.width = width
  Object.assign(camera.frame(left, top, wide, high), { fitted, range: [1, Math.max(LARGEST / fitted, 1)] })
  if (whole) camera.scale = fitted
  sized(view.canvas, width, top + high + 2)
  moved(view)
}

/** After every change of what is seen. */
function moved(view) {
  const { head, canvas, parts } = view, camera = view.camera.clamp()
  canvas.classList.toggle("zoomed", camera.zoomed)
  parts.out.disabled = parts.whole.disabled = !camera.zoomed
  parts.in.disabled = camera.scale >= LARGEST * 0.999
  legend(view)
  view.frames.ask()
  clearTimeout(view.timer)
  if (head.layers[0].block > 1) view.timer = setTimeout(() => ask(view), 300)
}

/** Ask for the exact weights of what is in view, where only averages are here. */
function ask(view) {
  const at = missing(view.head, view.camera)
  if (!at || view.asked === at.join()) return
  view.asked = at.join()
  view.tell("window", { id: view.head.id, at })
}

function read({ head, cursor, chosen, parts }) {
  const cell = cursor || chosen
  parts.arrow.textContent = cell ? " → " : "Point at a cell to read its weight; click it to see how the weight is computed."
  parts.query.textContent = cell ? `“${head.labels[cell[0]]}” (${cell[0] + 1})` : ""
  parts.key.textContent = cell ? `“${head.labels[cell[1]]}” (${cell[1] + 1})` : ""
  const [value, block] = cell ? weightAt(head, ...cell) : [0, 1]
  parts.value.textContent = cell ? ` ≈ ${weight(value)}${block > 1 ? `, mean of ${block} × ${block} units` : ""}` : ""
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

/** Labels that hold what is searched for. */
function find(view) {
  const wanted = view.search.value.trim().toLowerCase()
  view.matches = wanted ? view.head.labels.flatMap((label, i) => (label.toLowerCase().includes(wanted) ? [i] : [])) : []
  view.match = null
  if (view.matches.length) jump(view, 0)
  else {
    view.parts.found.textContent = wanted ? "not found" : ""
    view.parts.next.disabled = view.parts.previous.disabled = true
    if (view.width) moved(view)
  }
}

function jump(view, step) {
  const { matches, parts, camera } = view
  if (!matches.length) return
  const at = (matches.indexOf(view.match) + step + matches.length) % matches.length
  const place = view.match === null ? 0 : at
  view.match = matches[place]
  parts.found.textContent = `${place + 1} of ${matches.length}`
  parts.next.disabled = parts.previous.disabled = matches.length < 2
  if (!view.width) return
  if (camera.fitted < READABLE - 3) camera.centre([view.match + 0.5, view.match + 0.5], READABLE + 2)
  moved(view)
}

function hands(view) {
  const { canvas, search, parts } = view
  let mini = false // the minimap is held
  const zoom = steer(canvas, {
    camera: () => view.camera,
    moved: () => moved(view),
    whole: () => zoom(0),
    hover: at => view.width && point(view, at && cellAt(view, at)),
    press: at => {
      mini = onMini(view, at)
      if (mini) lookAt(view, at)
    },
    drag: ({ at, by }) => {
      if (mini) return lookAt(view, at)
      view.camera.pan(...by)
      moved(view)
    },
    tap: at => {
      const cell = mini ? null : cellAt(view, at)
      if (cell) choose(view, cell)
    },
    twice: at => zoom(2, at),
    cursor: () => view.cursor && view.camera.toScreen([view.cursor[1] + 0.5, view.cursor[0] + 0.5]).slice(0, 2),
    wheels: event => {
      const passing = event.timeStamp - (view.scrolling || -1000) < 250
      if (passing) view.scrolling = event.timeStamp // the page is scrolling past
      return !passing
    },
    keys: keys(view),
  })
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
  parts.in.onclick = () => zoom(1.6)
  parts.out.onclick = () => zoom(1 / 1.6)
  parts.whole.onclick = () => zoom(0)
  parts.contrast.onclick = () => {
    view.root = !view.root
    dress(view)
  }
}

/** The cell at a point of the canvas, or null outside the map. */
function cellAt({ camera, head }, [px, py]) {
  const { left, top, width, height } = camera, count = head.labels.length
  if (px < left || py < top || px > left + width || py > top + height) return null
  const [column, row] = camera.toWorld(px, py).map(Math.floor)
  return row >= 0 && column >= 0 && row < count && column < count ? [row, column] : null
}

function onMini({ camera }, [px, py]) {
  const { x, y, size } = miniBox(camera)
  return camera.scale > camera.fitted * 1.05 && px >= x && py >= y && px <= x + size && py <= y + size
}

/** Put the middle of the view where the minimap is touched. */
function lookAt(view, [px, py]) {
  const { camera, head } = view, { x, y, size } = miniBox(camera)
  camera.centre([((px - x) / size) * head.labels.length, ((py - y) / size) * head.labels.length])
  moved(view)
}

function keys(view) {
  const walk = (rows, columns) => event => {
    const { camera, cursor, chosen } = view, last = view.head.labels.length - 1
    const far = event.shiftKey ? 10 : 1, from = cursor || chosen
    const cell = from
      ? [clamp(from[0] + rows * far, 0, last), clamp(from[1] + columns * far, 0, last)]
      : [1, 0].map(side => Math.floor(Math.max(camera.span(side)[0], 0)))
    camera.reveal([cell[1], cell[0]], [cell[1] + 1, cell[0] + 1])
    point(view, cell)
  }
  const select = () => view.cursor && choose(view, view.cursor)
  const walks = { ArrowUp: walk(-1, 0), ArrowDown: walk(1, 0), ArrowLeft: walk(0, -1), ArrowRight: walk(0, 1) }
  return { ...walks, Enter: select, " ": select, Escape: () => choose(view, null) }
}
