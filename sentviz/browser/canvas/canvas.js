// mount: a sentence, its highlighted parts, and the pointers and keys that highlight them.

import { live } from "../kit/canvas.js"
import { theme } from "../kit/colour.js"
import { html, labelled, parts } from "../kit/dom.js"
import { percent, weight } from "../kit/format.js"
import { pressed } from "../kit/hands.js"
import { clamp } from "../kit/maths.js"
import { heads } from "./heads.js"
import { answers, light, words } from "./nodes.js"
import { cellAt, paintMap, paintTile, picture, table } from "./paint.js"
import { leading, map, read, span, together } from "./scene.js"
import { Tour } from "./tour.js"
import { Typing } from "./typing.js"
import { filled, mapName, ofCell, ofHead, ofWord, silent } from "./words.js"

const ROOM = [200, 420] // smallest and largest height of the large map in pixels
const PATIENCE = 2000 // milliseconds to wait for Python's reply
const PARTS = ["answer", "words", "words-key", "readout", "again", "looks", "overview", "heads-title", "heads-note", "room", "leading", "others", "heads", "large", "map-title", "low", "bar", "high", "parts",
  "components", "silence", "map-room", "map", "map-note", "card", "count", "card-title", "card-text", "formula", "skip", "back", "on"]

export function mount(root) {
  const view = {
    host: root.querySelector(".linked"),
    parts: parts(root, PARTS),
    room: null, // height for the large map in pixels
    lit: null, // token under the pointer or with the focus
    pinned: null, // token that stays highlighted
    told: null, // last message to Python about the pinned token, until Python replies
    pick: null, // map that stays large
    peek: null, // map under the pointer
    cell: null, // cell of the large map under the pointer
    unfolded: false, // whether the maps of all heads are shown
    tour: new Tour(),
    typing: null, // follows the fields of the page, if there are some
    show: data => follow(view, data) && show(view, data),
  }
  live(view, view.host, () => paint(view), () => view.scene && redraw(view), () => view.typing?.end())
  hands(view)
  return view
}

/** Return whether what the page sent is shown now: not while the visitor types on. */
function follow(view, data) {
  if (data.live) view.typing ??= new Typing(typed => showTyped(view, typed), sent => show(view, sent))
  return !view.typing || view.typing.page(data)
}

/** Show another text that is being typed: with maps of the same heads, the chosen map stays. */
function showTyped(view, data) {
  const axes = ({ maps }) => maps && JSON.stringify([maps.layers, maps.heads, maps.parts]), { pick, scene } = view
  show(view, { ...data, pinned: null, typed: true }, scene.maps && axes(scene) === axes(data) ? { pick } : {})
}

function show(view, data, stays = {}) {
  if (data.live) document.body.dataset.pictured = data.live.subject
  if (view.mark !== data.mark) load(view, data, stays)
  settle(view, data.pinned ?? null)
  view.tour.fit(data.tour)
  redraw(view)
}

/** Load a new scene. @param {any} stays what is shown of it as of the scene before */
function load(view, data, stays) {
  const same = view.scene?.text === data.text, scene = read(data)
  Object.assign(view, { scene, mark: data.mark, pick: scene.maps && scene.pick, peek: null, images: new Map(), cell: same ? view.cell : null })
  if (!same) Object.assign(view, { lit: null, pinned: null, told: null })
  Object.assign(view, stays)
  view.parts.looks.hidden = !scene.maps
  answers(view)
  words(view, act(view))
  if (scene.maps) heads(view, act(view))
}

/** Take over the pinned token from Python. While Python has not replied to the last change here, that change counts. */
export function settle(view, pinned, now = performance.now()) {
  if (view.told && view.told.pinned !== pinned && now < view.told.until) return
  Object.assign(view, { pinned, told: null })
}

/** Set colours and fonts from the page, light or dark. */
function dress(view) {
  const look = theme(view.host), own = view.scene.palettes[look.dark ? "dark" : "light"]
  if (view.look?.dark !== look.dark) view.images = new Map()
  const font = `12px ${look.family}`
  view.look = { ...look, ...own, font, strong: `600 ${font}` }
  view.tables = { sequential: table(own.sequential), signed: table(own.signed) }
  const classes = own.classes.map((colour, k) => [`class-${k}`, colour])
  for (const [name, colour] of [["low", own.signed[1]], ["high", own.signed.at(-2)], ["muted", own.muted], ["neutral", own.neutral], ...classes]) {
    view.host.style.setProperty(`--${name}`, colour)
  }
}

/** Return the current selection: the word under the pointer, else the tour's word, else the pinned word. */
export function currentSelection(view) {
  const { scene, tour } = view, i = view.lit ?? (tour.step ? leading(scene) : view.pinned)
  return { i, lit: i === null ? [] : together(scene, i), pick: view.peek || view.pick, cell: view.cell }
}

/** Redraw after the size or the colours of the page change. */
function redraw(view) {
  dress(view)
  update(view)
}

/** Redraw after the selected word, cell or map changes. */
function update(view) {
  const { scene, parts } = view, state = currentSelection(view)
  light(view, state)
  updateReadout(view, state)
  if (scene.maps) drawLargeMap(view, state)
  card(view)
  view.frames.ask()
}

function updateReadout({ scene, parts, peek }, { i, pick, cell }) {
  parts["words-key"].hidden = i !== null || peek !== null
  const rest = `Point at a word${scene.maps ? ", a head or a cell" : ""} to see its effect; click to keep it selected.`
  parts.readout.textContent = cell ? ofCell(scene, pick, cell) : peek ? ofHead(scene, peek) : i !== null ? ofWord(scene, pick, i) : rest
}

function drawLargeMap(view, { pick }) {
  const { scene, parts, tables } = view, key = Object.values(pick).join(), { peak, signed } = span(map(scene, pick))
  if (!view.images.has(key)) view.images.set(key, picture(scene, pick, tables))
  view.image = view.images.get(key)
  parts["map-title"].textContent = mapName(scene, pick)
  parts.low.textContent = signed ? weight(-peak) : "0"
  parts.high.textContent = weight(peak)
  parts.bar.style.background = `linear-gradient(90deg, ${(signed ? view.look.signed : view.look.sequential).join(", ")})`
  parts["map-note"].textContent = [
    "Each row shows which words that word attends to.",
    scene.side < scene.tokens.length + scene.more ? `The map shows the ${scene.side} of ${scene.tokens.length + scene.more} tokens that receive most attention; ${percent(scene.maps.hidden)} of the attention is on the others.` : "",
    signed ? "Purple is negative." : "",
  ].filter(Boolean).join(" ")
  labelled(parts.map, `${mapName(scene, pick)}. ${ofHead(scene, pick)} Arrow keys move over its cells, Enter pins a row, Escape releases it.`)
  const off = pick.head >= 0 && silent(scene, pick.layer, pick.head)
  parts.silence.hidden = !scene.acts || pick.head < 0
  parts.silence.textContent = off ? "Switch this head on" : "Switch this head off"
  parts["map-room"].classList.toggle("off", off)
  view.room ??= clamp(innerHeight - parts.map.getBoundingClientRect().top - 6, ...ROOM) // when the page opens, the map ends at the lower edge of the window
  for (const [c, button] of [...parts.components.children].entries()) button.setAttribute("aria-pressed", String(c === pick.part))
}

function paint(view) {
  const { scene, parts, look, tables } = view
  if (!scene?.maps || !look) return
  const state = currentSelection(view), tiles = [...parts.heads.querySelectorAll(".tile")]
  const wide = tiles[0].firstChild.clientWidth // of every tile; read once, because after a drawing it makes the browser lay out the page
  paintMap(view, state)
  if (wide) for (const tile of tiles) {
    const pick = { layer: Number(tile.dataset.layer), head: Number(tile.dataset.head), part: 0 }, key = Object.values(pick).join()
    if (!view.images.has(key)) view.images.set(key, picture(scene, pick, tables))
    paintTile(tile.firstChild, wide, scene, view.images.get(key), look, state.lit)
  }
}

/** Place the tour's card next to the part that it explains. */
function card(view) {
  const { tour, parts, scene, host } = view, { step } = tour
  host.classList.toggle("touring", step !== null)
  for (const name of ["answer", "words", "overview", "large"]) parts[name].classList.toggle("spot", step !== null && (step.part === name || (step.part === "parts" && name === "large")))
  parts.card.hidden = !step
  if (!step) return
  parts.count.textContent = `${tour.at + 1} of ${tour.steps.length}`
  parts["card-title"].textContent = step.title
  parts["card-text"].textContent = filled(scene, view.pick, step)
  parts.formula.replaceChildren(html("span", step.formula, { className: "tex" }), html("small", `Glossary: ${step.term}`))
  parts.back.disabled = tour.at === 0
  parts.on.textContent = tour.last ? "Done" : "Next"
  const whole = host.getBoundingClientRect(), part = parts[step.part].getBoundingClientRect(), [wide, high] = [parts.card.offsetWidth, parts.card.offsetHeight]
  const [left, right] = [part.left - whole.left, part.right - whole.left], top = part.top - whole.top
  const beside = step.part !== "answer" && step.part !== "words" && (right + 12 + wide <= whole.width ? right + 12 : left - wide - 12 >= 0 ? left - wide - 12 : null)
  Object.assign(parts.card.style, beside === false || beside === null
    ? { left: `${clamp(left + 24, 0, Math.max(whole.width - wide, 0))}px`, top: `${part.bottom - whole.top + 8}px` }
    : { left: `${beside}px`, top: `${clamp(top, 0, Math.max(whole.height - high, 0))}px` })
}

// ---- pointers and keys

/** Return the actions of words and heads under the pointer, with the focus, or clicked. */
function act(view) {
  const set = change => {
    Object.assign(view, change)
    update(view)
  }
  const choose = pick => {
    set({ pick, peek: null })
    view.tell("pick", { text: view.scene.text, at: [pick.layer, pick.head, pick.part] })
  }
  const keep = (pinned, change) => {
    const moved = pinned !== view.pinned
    set({ ...change, pinned, told: moved ? { pinned, until: performance.now() + PATIENCE } : view.told })
    if (moved) view.tell("pin", { text: view.scene.text, at: [pinned ?? -1] })
  }
  return {
    word: i => set(i === null ? { lit: null } : { lit: i, cell: null, peek: null }), // the newest selection counts
    pin: i => keep(view.pinned === i ? null : i, view.pinned === i ? { lit: null } : {}),
    free: () => keep(null, { lit: null, cell: null }),
    head: pick => set(pick ? { peek: { ...pick, part: view.pick.part }, lit: null, cell: null } : { peek: null }),
    choose,
    shown: () => view.pick.part,
    unfold: () => {
      view.unfolded = !view.unfolded
      heads(view, act(view))
      update(view)
    },
    silence: (layer, head) => {
      const { scene } = view
      view.typing?.silence(`${scene.maps.layers[layer]}.${scene.maps.heads[head]}`)
      view.tell("silence", { text: scene.text, at: [layer, head] })
    },
    part: part => choose({ ...view.pick, part }),
  }
}

function hands(view) {
  const { parts, tour } = view, does = act(view), canvas = parts.map
  const place = event => {
    const edge = canvas.getBoundingClientRect()
    return cellAt(view, [event.clientX - edge.left, event.clientY - edge.top])
  }
  const token = k => (k === null ? null : view.scene.maps.shown[k])
  const point = ({ cell, place: k }) => {
    Object.assign(view, { cell, lit: token(k), peek: null })
    update(view)
  }
  canvas.onpointermove = event => point(place(event))
  canvas.onpointerleave = () => point({ cell: null, place: null })
  canvas.onblur = () => point({ cell: null, place: null })
  canvas.onclick = event => {
    const i = token(place(event).place)
    if (i !== null) does.pin(i)
  }
  const step = (down, right) => () => {
    const last = view.scene.side - 1, [query, key] = view.cell || [0, 0]
    const cell = view.cell ? [clamp(query + down, 0, last), clamp(key + right, 0, last)] : [0, 0]
    point({ cell, place: cell[0] })
  }
  const keys = { ArrowUp: step(-1, 0), ArrowDown: step(1, 0), ArrowLeft: step(0, -1), ArrowRight: step(0, 1), Escape: does.free }
  canvas.onkeydown = event => pressed(event, { ...keys, Enter: () => view.cell && does.pin(token(view.cell[0])) })
  parts.silence.onclick = () => does.silence(view.pick.layer, view.pick.head)
  const touring = change => () => {
    change()
    update(view)
  }
  const over = touring(() => tour.end())
  parts.again.onclick = () => {
    tour.start()
    update(view)
    parts.on.focus()
  }
  parts.skip.onclick = over
  parts.back.onclick = touring(() => tour.move(-1))
  parts.on.onclick = touring(() => tour.move(1))
  parts.card.onkeydown = event => {
    if (pressed(event, { Escape: over })) parts.again.focus({ preventScroll: true })
  }
}
