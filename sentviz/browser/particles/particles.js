// mount: a scene with its clock, pointers and keys, and the line below.

import { Camera } from "../kit/camera.js"
import { allowed, live, sized } from "../kit/canvas.js"
import { ramp, theme } from "../kit/colour.js"
import { html, labelled, layMarks, markLayer, parts } from "../kit/dom.js"
import { fixed, percent, some } from "../kit/format.js"
import { nearest } from "../kit/geometry.js"
import { steer } from "../kit/hands.js"
import { clamp } from "../kit/maths.js"
import { SHADES } from "./ground.js"
import { paint } from "./paint.js"
import { fit, probability, read, verdict } from "./scene.js"

const BEAT = 1100 // milliseconds per layer at speed 1
const ARRIVAL = 450 // milliseconds in which a new scene of the same tokens replaces the old one
const MARKS = 16 // largest number of layers with a button each
const NEAR = 14 // pixels within which the pointer finds a token
const PARTS = ["time", "marks", "first", "back", "play", "forward", "last", "speed", "whole", "where", "what", "readout"]
const SHOWS = ["names", "trails", "hull", "limit"]

export function mount(root) {
  const view = {
    host: root.querySelector(".particles"),
    canvas: root.querySelector("canvas"),
    parts: parts(root, PARTS),
    boxes: parts(root, SHOWS),
    legend: parts(root, ["of-limit", "of-mean", "of-decision"]),
    shows: Object.fromEntries(SHOWS.map(name => [name, true])),
    lasting: ["token"],
    still: matchMedia("(prefers-reduced-motion: reduce)").matches,
    time: 0,
    speed: 1,
    playing: false,
    hovered: null,
    chosen: null,
    lit: new Set(),
    widths: new Map(),
    sides: new Map(),
    strength: new Map(),
    version: 0,
    show: data => show(view, data),
    pose: time => pose(view, time),
  }
  live(view, view.host, passed => tick(view, passed), () => resize(view))
  hands(view)
  return view
}

function show(view, data) {
  if (view.mark !== data.mark) {
    view.mark = data.mark
    load(view, data)
  }
  dress(view)
}

/** Load a new scene. The same tokens move to their new places; a new story starts to play. */
function load(view, data) {
  const old = view.scene, scene = (view.scene = read(data))
  const same = old && old.id === scene.id && old.dimension === scene.dimension && old.count === scene.count
  Object.assign(view, {
    before: same && view.places && !view.still ? view.places.slice() : null,
    arrived: 0,
    places: new Float32Array(scene.count * scene.dimension),
    flat: new Float32Array(2 * scene.count),
    near: new Float32Array(scene.count),
    version: view.version + 1,
  })
  if (!same) Object.assign(view, { chosen: null, hovered: null, lit: new Set(), sides: new Map(), strength: new Map(), widths: new Map() })
  if (data.chosen !== undefined && data.chosen < scene.count) view.chosen = data.chosen
  view.legend["of-limit"].hidden = view.boxes.limit.parentElement.hidden = !scene.edges.length
  view.legend["of-mean"].hidden = !scene.means
  view.legend["of-decision"].hidden = !scene.decision
  view.boxes.names.parentElement.hidden = !scene.named || scene.count > 700
  marks(view)
  labelled(view.canvas, `${scene.title}: ${scene.count} tokens over ${scene.layers} layers. Space plays and pauses, left and right step, up and down walk through the tokens, Enter selects one, plus and minus zoom, 0 shows everything.`)
  if (old?.dimension !== scene.dimension) view.camera = new Camera({ dims: scene.dimension }).frame(0, 0, view.width, view.height)
  if (view.width) fit(scene, view.camera)
  const news = !old || old.story !== scene.story
  view.time = news ? 0 : Math.min(view.time, scene.layers)
  light(view)
  if (news && !view.still && scene.layers) play(view, true)
  else if (news) seek(view, view.still ? scene.layers : 0)
  else told(view)
}

function marks(view) {
  const { scene } = view, layers = scene.layers + 1
  layMarks(view.parts, [...Array(scene.layers <= MARKS ? layers : 0).keys()].map(layer => {
    const button = html("button", layer ? String(layer) : "start", { type: "button" })
    const p = scene.probabilities?.[layer]
    if (p !== undefined) {
      button.append(html("small", percent(p)))
      button.title = `After layer ${layer}: ${verdict(scene, p)}; the number is the probability of ${scene.labels[1]}`
    }
    button.onclick = () => pause(view, layer)
    return button
  }), layers)
}

/** Set colours and fonts from the page, light or dark. */
function dress(view) {
  const look = theme(view.host), { probability: stops, lines } = view.scene.palettes[look.dark ? "dark" : "light"]
  view.font = `13px ${look.family}`
  view.look = {
    ...look,
    lines,
    shades: ramp(stops, SHADES + 1),
    specks: ramp(stops.with(2, "#8a90a0"), SHADES + 1), // without an edge, so they must be visible on paper
    small: `11px ${look.family}`,
    strong: `600 14px ${look.family}`,
  }
  view.version += 1
  view.widths.clear()
  resize(view)
}

function resize(view) {
  const width = view.host.clientWidth
  if (!width || !view.scene || !view.look) return
  const height = Math.round(allowed(view.canvas, clamp(width * 0.58, 320, 580))), other = sized(view.canvas, width, height)
  if (other || view.width !== width) {
    Object.assign(view, { width, height })
    fit(view.scene, view.camera.frame(0, 0, width, height))
  }
  draw(view)
}

function draw(view) {
  view.frames.ask()
}

/** Draw a frame; return true while anything moves. */
function tick(view, passed) {
  if (!view.width) return false
  const { scene } = view
  if (view.before) {
    view.arrived = Math.min(view.arrived + passed / ARRIVAL, 1)
    if (view.arrived === 1) view.before = null
  }
  if (view.playing) {
    if (view.still) {
      view.waited = (view.waited || 0) + passed
      if (view.waited > BEAT / view.speed) {
        view.waited = 0
        view.time = Math.min(Math.floor(view.time) + 1, scene.layers)
      }
    } else view.time = Math.min(view.time + (passed * view.speed) / BEAT, scene.layers)
    if (view.time >= scene.layers) play(view, false)
  }
  paint(view)
  told(view)
  return view.playing || view.before || view.fading
}

/** Paint a time at once: nothing plays or fades. */
function pose(view, time) {
  Object.assign(view, { still: true, before: null, playing: false, time: clamp(time, 0, view.scene.layers) })
  resize(view)
  view.frames.stop()
  tick(view, 0)
}

function play(view, on) {
  if (on && view.time >= view.scene.layers) view.time = 0
  view.playing = on && view.scene.layers > 0
  view.waited = 0
  view.host.classList.toggle("playing", view.playing)
  labelled(view.parts.play, view.playing ? "Pause" : "Play")
  view.parts.readout.setAttribute("aria-live", view.playing ? "off" : "polite")
  draw(view)
}

function seek(view, time) {
  view.time = clamp(time, 0, view.scene.layers)
  draw(view)
}

function pause(view, time) {
  play(view, false)
  seek(view, time)
}

function step(view, by) {
  const from = by > 0 ? Math.floor(view.time + 1e-6) : Math.ceil(view.time - 1e-6)
  pause(view, from + by)
}

/** Update the slider and the line below. */
function told(view) {
  const { scene, parts } = view
  const layer = Math.floor(view.time + 1e-6)
  if (Number(parts.time.value) !== view.time) parts.time.value = view.time
  parts.time.setAttribute("aria-valuetext", `layer ${fixed(view.time, 1)} of ${scene.layers}`)
  const around = view.hovered ?? view.chosen
  const key = [layer, around, view.version].join()
  if (view.toldKey === key) return
  view.toldKey = key
  markLayer(parts, layer)
  parts.where.textContent = layer ? `After layer ${layer} of ${scene.layers}:` : "At the start:"
  const leading = [...scene.since.values()].filter(since => since <= layer).length
  const said = [`${some(scene.count, "token")} at ${some(scene.clusters[layer], "place")}`, `${some(leading, "leader")} so far`]
  if (scene.probabilities) said.push(`mean: ${verdict(scene, scene.probabilities[layer])}`)
  parts.what.textContent = around === null ? `${said.join(", ")}.` : about(view, around, layer)
}

function about({ scene, lit }, i, layer) {
  const size = scene.dimension
  const at = Array.from({ length: size }, (_, c) => fixed(scene.positions[(layer * scene.count + i) * size + c]))
  const said = [`“${scene.words[i]}” at (${at.join(", ")})`]
  if (scene.decision && scene.exact) {
    const p = probability(scene, scene.positions[2 * (layer * scene.count + i)], scene.positions[2 * (layer * scene.count + i) + 1])
    said.push(`the decoder's prediction at this place: ${verdict(scene, p)}`)
  }
  if (scene.since.has(i)) {
    const others = [...new Set([...lit].filter(j => j !== i).map(j => scene.words[j]))]
    const named = scene.named && others.length ? `: ${others.slice(0, 14).join(", ")}${others.length > 14 ? " …" : ""}` : ""
    said.push(`a leader since layer ${scene.since.get(i) + 1}; ${lit.size} tokens end at its place${named}`)
  } else if (scene.toward && layer < scene.layers) {
    const j = scene.toward[layer * scene.count + i]
    if (j === i) said.push("attracted only by itself")
    else if (j >= 0) said.push(`attracted by “${scene.words[j]}”`)
  }
  return `${said.join("; ")}.`
}

/** Return the tokens that end in the same cluster as the token under the pointer. */
function light(view) {
  const { scene } = view
  const i = view.hovered ?? view.chosen
  view.lit = new Set(i === null ? [] : [...Array(scene.count).keys()].filter(j => scene.groups[j] === scene.groups[i]))
  draw(view)
}

function hover(view, i) {
  if (view.hovered === i) return
  view.hovered = i
  view.canvas.classList.toggle("over", i !== null)
  light(view)
}

function choose(view, i) {
  view.chosen = i
  light(view)
  view.tell("token", i === null ? null : { id: view.scene.id, index: i, layer: Math.floor(view.time + 1e-6) })
}

/** Handle a click: on a token, choose it; elsewhere, clear the choice or request a new token from Python. */
function clicked(view, at) {
  const i = tokenAt(view, at)
  if (i !== null || (view.chosen !== null && !view.scene.adding)) return choose(view, i)
  if (!view.scene.adding) return
  pause(view, 0)
  view.tell("point", view.camera.toWorld(...at))
}

/** Return the token at a point of the canvas, leaders first; null if none is near. */
function tokenAt({ scene, flat }, [x, y]) {
  return nearest(flat, scene.count, x, y, NEAR, i => (scene.since.has(i) ? -1 : 0))
}

function whole(view) {
  fit(view.scene, view.camera.look())
  draw(view)
}

function hands(view) {
  const { canvas, parts } = view
  parts.play.onclick = () => play(view, !view.playing)
  parts.first.onclick = () => pause(view, 0)
  parts.last.onclick = () => pause(view, view.scene.layers)
  parts.back.onclick = () => step(view, -1)
  parts.forward.onclick = () => step(view, 1)
  parts.speed.onchange = () => (view.speed = Number(parts.speed.value))
  parts.time.oninput = () => pause(view, Number(parts.time.value))
  parts.whole.onclick = () => whole(view)
  for (const [name, box] of Object.entries(view.boxes)) {
    box.onchange = () => {
      view.shows[name] = box.checked
      draw(view)
    }
  }
  const walk = by => {
    const order = [...view.scene.leaders, ...view.scene.order.filter(i => !view.scene.since.has(i))]
    const at = order.indexOf(view.hovered ?? view.chosen)
    hover(view, order[at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length])
  }
  steer(canvas, {
    camera: () => view.camera,
    moved: () => draw(view),
    whole: () => whole(view),
    hover: at => hover(view, at && tokenAt(view, at)),
    tap: at => clicked(view, at),
    keys: {
      " ": () => play(view, !view.playing),
      ArrowRight: () => step(view, 1),
      ArrowLeft: () => step(view, -1),
      Home: () => pause(view, 0),
      End: () => pause(view, view.scene.layers),
      ArrowDown: () => walk(1),
      ArrowUp: () => walk(-1),
      Enter: () => view.hovered !== null && choose(view, view.hovered),
      Escape: () => (hover(view, null), view.chosen !== null && choose(view, null)),
    },
  })
}
