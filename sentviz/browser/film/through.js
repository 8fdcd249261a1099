// mount: a training run with its clock and slider, and the panels that follow them.

import { live } from "../kit/canvas.js"
import { theme } from "../kit/colour.js"
import { html, labelled, layMarks, markLayer, parts } from "../kit/dom.js"
import { fixed, percent, some, weight } from "../kit/format.js"
import { nearest } from "../kit/geometry.js"
import { pressed } from "../kit/hands.js"
import { clamp, mix } from "../kit/maths.js"
import { paintCounts, paintLines, paintMap, paintPoints, table, told } from "./panels.js"
import { kinds, list, lit, mark } from "./rows.js"
import { advanced, epochAt, held, line, read, right, tally, timeOf, turned } from "./scene.js"

const BEAT = 1200 // milliseconds from one epoch to the next
const SNAP = 250 // milliseconds to the nearest epoch after the slider is released
const NEAR = 12 // pixels within which the pointer finds a point
const LINES = ["heads", "scalars", "curves"] // panels with lines; each shows one of its groups
const PARTS = ["deck", "back", "play", "forward", "time", "marks", "where", "what", "readout", "map-title", "map", "answer", "map-note", "points", "points-key",
  "points-note", "tip", "counts", "kind", "rows-note", "list", "of-map", "of-points", "of-counts", ...LINES.flatMap(name => [name, `${name}-key`, `${name}-which`, `of-${name}`])]

export function mount(root) {
  const view = {
    host: root.querySelector(".through"),
    parts: parts(root, PARTS),
    still: matchMedia("(prefers-reduced-motion: reduce)").matches,
    time: 0,
    goal: null, // epoch to move to
    playing: false,
    lit: null, // row under the pointer
    spans: new Map(), // positions of the epochs on the canvases with lines
    show: data => show(view, data),
    pose: time => pose(view, time),
  }
  live(view, view.host, passed => tick(view, passed), () => draw(view))
  hands(view)
  return view
}

function show(view, data) {
  if (view.mark !== data.mark) {
    view.mark = data.mark
    load(view, data)
  }
  dress(view)
  draw(view)
}

/** Load a new film. If it is of the same run, the slider stays. */
function load(view, data) {
  const before = view.film, film = (view.film = read(data)), same = before && before.title === film.title && before.last === film.last
  Object.assign(view, { cells: null, at: null, lit: null, toldKey: null, goal: null })
  view.time = same ? Math.min(view.time, film.last) : film.last
  play(view, false)
  layMarks(view.parts, film.epochs.map((epoch, k) => {
    const button = html("button", String(epoch), { type: "button", title: `After epoch ${epoch}` })
    button.append(html("small", percent(tally(film, k) / film.n)))
    button.onclick = () => travel(view, k)
    return button
  }))
  const { sentence } = film
  view.parts["of-map"].hidden = !sentence
  if (sentence) {
    view.parts["map-title"].textContent = sentence.maps ? sentence.title : "The sentence"
    view.parts.map.hidden = !sentence.maps
  }
  for (const name of LINES) {
    const groups = groupsOf(film, name), which = view.parts[`${name}-which`], now = which.value
    view.parts[`of-${name}`].hidden = !groups.length
    which.replaceChildren(...groups.map((group, k) => html("option", group.title, { value: String(k) })))
    which.disabled = groups.length < 2
    if (same && groups[Number(now)]) which.value = now
  }
  const made = film.m < film.n ? `${film.m.toLocaleString("en")} of the rows` : "All rows"
  view.parts["points-note"].textContent = `${made}: the vectors that the classifier reads, PCA, ${film.picture}. Point at a row to see its path.`
  kinds(view)
  listed(view)
}

const listed = view => {
  list(view, i => point(view, i), i => view.tell("row", { id: view.film.rows[i].id, row: i }))
  view.toldKey = null
}

/** Set colours and fonts from the page, light or dark. */
function dress(view) {
  const look = theme(view.host), own = view.film.palettes[look.dark ? "dark" : "light"]
  const { lines, classes, signed, judged, sequential } = own
  view.look = {
    ...look,
    lines,
    classes,
    signed: table(signed),
    judged: table(judged),
    sequential: table(sequential),
    good: judged.at(-2),
    bad: judged[1],
    line: look.dark ? "#2b303b" : "#e6e9ef",
  }
  view.host.style.setProperty("--good", view.look.good)
  view.host.style.setProperty("--classes", view.film.classes.length)
  view.host.style.setProperty("--bad", view.look.bad)
  key(view.parts["points-key"], [...view.film.classes.map((name, k) => [name, classes[k], ""]), ["wrong at this epoch", "", "ring"]])
  view.toldKey = null
}

function key(node, items) {
  node.replaceChildren(...items.map(([name, colour, kind]) => {
    const item = html("span"), sign = html("i", "", { className: kind })
    if (colour) sign.style.background = colour
    item.append(sign, html("bdi", name), html("b", "", { className: "value" }))
    return item
  }))
}

const draw = view => view.frames.ask()

/** Draw a frame; return true while anything moves. */
function tick(view, passed) {
  if (!view.film || !view.look) return false
  if (view.goal !== null) {
    const way = view.goal - view.time, step = view.still ? Infinity : passed / SNAP
    view.time = Math.abs(way) <= step ? view.goal : view.time + Math.sign(way) * step
    if (view.time === view.goal) view.goal = null
  } else if (view.playing) played(view, passed)
  paint(view)
  tell(view)
  return view.playing || view.goal !== null
}

/** Paint a time at once: nothing plays. */
function pose(view, time) {
  Object.assign(view, { playing: false, goal: null, time: clamp(time, 0, view.film.last) })
  view.frames.stop()
  tick(view, 0)
}

function played(view, passed) {
  view.waited = (view.waited || 0) + (view.still ? passed : 0)
  if (view.still && view.waited < BEAT) return
  view.time = advanced(view.time, view.still ? view.waited : passed, view.film.last, BEAT, view.still)
  view.waited = 0
  if (view.time >= view.film.last) play(view, false)
}

function paint(view) {
  const { film, parts } = view, epoch = epochAt(film, view.time)
  if (film.sentence?.maps) paintMap(view)
  if (film.sentence) answer(view)
  paintPoints(view)
  paintCounts(view)
  for (const name of LINES) {
    const lines = linesOf(view, name)
    if (!lines) continue
    paintLines(view, parts[name], lines, epoch)
    const node = parts[`${name}-key`], names = lines.map(one => one.name)
    if (node.dataset.names !== names.join("\n") + view.look.dark) {
      node.dataset.names = names.join("\n") + view.look.dark
      key(node, lines.map((one, k) => [one.name, view.look.lines[k % view.look.lines.length], "line"]))
    }
    for (const [k, one] of lines.entries()) node.children[k].lastChild.textContent = ` ${told(line(one, epoch), lines)}`
  }
}

const groupsOf = (film, name) => film.groups.filter(group => group.panel === name)

const linesOf = ({ film, parts }, name) => groupsOf(film, name)[Number(parts[`${name}-which`].value)]?.lines

/** Draw the probabilities of the sentence as bars. */
function answer({ film, look, parts, time }) {
  const { sentence } = film, { from, to, part } = held(film, sentence.epochs, time)
  const shares = film.classes.map((_, k) => mix(sentence.probabilities[from][k], sentence.probabilities[to][k], part))
  if (parts.answer.childElementCount !== 3 * shares.length) {
    parts.answer.replaceChildren(...film.classes.flatMap(name => {
      const bar = html("span", "", { className: "bar" })
      bar.append(html("i"))
      return [html("bdi", name), bar, html("span", "", { className: "share" })]
    }))
  }
  for (const [k, share] of shares.entries()) {
    const [name, bar, said] = [0, 1, 2].map(c => parts.answer.children[3 * k + c])
    name.textContent = film.classes[k]
    Object.assign(bar.firstChild.style, { width: `${100 * share}%`, background: look.classes[k] })
    said.textContent = percent(share, 1)
  }
}

/** Update the slider, the line below it, and the pictures' descriptions for screen readers. */
function tell(view) {
  const { film, parts, time } = view, stop = Math.round(time), n = film.n
  if (!view.sliding && Number(parts.time.value) !== time) parts.time.value = time
  const state = [stop, view.lit, Number.isInteger(time)].join()
  if (view.toldKey === state) return
  view.toldKey = state
  const count = tally(film, stop), [learned, lost] = turned(film, stop), epoch = film.epochs[stop]
  parts.time.setAttribute("aria-valuetext", `epoch ${epoch} of ${film.epochs.at(-1)}, ${percent(count / n)} right`)
  markLayer(parts, stop)
  mark(view, stop)
  parts.where.textContent = `${Number.isInteger(time) ? "After" : "Near"} epoch ${epoch}:`
  const news = stop ? `; since epoch ${film.epochs[stop - 1]}, ${some(learned, "row")} learned, ${some(lost, "row")} forgotten` : ""
  parts.what.textContent = `${count.toLocaleString("en")} of ${some(n, "row")} right (${fixed((100 * count) / n, 1)}%)${news}.`
  labelled(parts.counts, `Confusion matrix after epoch ${epoch}: ${film.classes.map((name, i) => film.classes.map((other, j) => `${name} predicted ${other}: ${film.counts[stop][i][j]}`).join(", ")).join("; ")}`)
  labelled(parts.points, `${film.m} rows as points after epoch ${epoch}; ${some(Array.from({ length: film.m }, (_, i) => i).filter(i => !right(film, stop, i)).length, "of them")} wrong`.replace("of thems", "of them"))
  for (const name of LINES) {
    const lines = linesOf(view, name)
    if (lines) labelled(parts[name], `At epoch ${epoch}: ${lines.map(one => `${one.name} ${told(line(one, epoch), lines)}`).join(", ")}`)
  }
  if (film.sentence) sentenceSaid(view, stop)
}

function sentenceSaid({ film, parts, time }, stop) {
  const { sentence } = film, { from, exact } = held(film, sentence.epochs, time), n = sentence.tokens.length
  parts["map-note"].textContent = exact
    ? sentence.long ? "The sentence is too long for a map, so only its prediction is shown." : "Each row shows which words that word attends to. All epochs share one colour scale."
    : `The weights of epoch ${film.epochs[stop]} are not installed. The map shows epoch ${sentence.epochs[from]}.`
  if (!sentence.maps) return
  let best = 0
  const zero = sentence.signed ? 128 : 0
  for (let k = 0; k < n * n; k++) if (Math.abs(sentence.maps[from * n * n + k] - zero) > Math.abs(sentence.maps[from * n * n + best] - zero)) best = k
  const value = (sentence.peak * (sentence.maps[from * n * n + best] - zero)) / (sentence.signed ? 127 : 255)
  labelled(parts.map, `${sentence.title} after epoch ${sentence.epochs[from]}; strongest: “${sentence.tokens[Math.floor(best / n)]}” attends to “${sentence.tokens[best % n]}” with weight ${weight(value)}`)
}

function play(view, on) {
  if (on && view.time >= view.film.last) view.time = 0
  Object.assign(view, { playing: on && view.film.last > 0, goal: null, waited: 0 })
  view.host.classList.toggle("playing", view.playing)
  labelled(view.parts.play, view.playing ? "Pause" : "Play")
  view.parts.readout.setAttribute("aria-live", view.playing ? "off" : "polite")
  draw(view)
}

/** Move to an epoch from any time. */
function travel(view, stop) {
  play(view, false)
  view.goal = clamp(stop, 0, view.film.last)
}

/** Highlight a row under the pointer, in the list or among the points. */
function point(view, i) {
  if (view.lit === i) return
  view.lit = i
  lit(view, i)
  draw(view)
}

function hover(view, event) {
  const { film, parts, spots } = view, edge = parts.points.getBoundingClientRect(), [x, y] = [event.clientX - edge.left, event.clientY - edge.top]
  const i = spots ? nearest(spots, film.m, x, y, NEAR) : null
  point(view, i)
  parts.tip.hidden = i === null
  if (i === null) return
  const one = film.rows[i], stop = Math.round(view.time)
  const said = `labelled ${film.classes[film.labels[i]]}, said ${film.classes[film.said[stop * film.n + i]]}`
  parts.tip.replaceChildren(html("b", said), ...(one.text ? [html("span", one.text, { dir: "auto" })] : []), html("small", `${one.id} · ${one.kind}`))
  parts.tip.style.left = `${clamp(x - 130, 0, Math.max(edge.width - 260, 0))}px`
  Object.assign(parts.tip.style, y > edge.height / 2 ? { top: "", bottom: `${edge.height - y + 12}px` } : { top: `${y + 12}px`, bottom: "" })
}

function hands(view) {
  const { parts } = view, step = by => () => travel(view, (view.goal ?? Math.round(view.time)) + by)
  parts.play.onclick = () => play(view, !view.playing)
  parts.back.onclick = step(-1)
  parts.forward.onclick = step(1)
  parts.time.oninput = () => {
    view.sliding = true
    if (view.playing) play(view, false)
    Object.assign(view, { goal: null, time: clamp(Number(parts.time.value), 0, view.film.last) })
    draw(view)
  }
  parts.time.onchange = () => {
    view.sliding = false
    travel(view, Math.round(Number(parts.time.value)))
  }
  const keys = {
    ArrowLeft: step(-1), ArrowDown: step(-1), ArrowRight: step(1), ArrowUp: step(1), " ": () => play(view, !view.playing),
    Home: () => travel(view, 0), End: () => travel(view, view.film.last),
  }
  parts.time.onkeydown = event => pressed(event, keys)
  parts.kind.onchange = () => (listed(view), draw(view))
  parts.points.onpointermove = event => hover(view, event)
  parts.points.onpointerleave = () => {
    point(view, null)
    parts.tip.hidden = true
  }
  for (const name of LINES) {
    parts[`${name}-which`].onchange = () => (view.toldKey = null, draw(view))
    const seek = event => {
      const span = view.spans.get(parts[name])
      if (!span || !(event.buttons & 1 || event.type === "pointerdown")) return
      const at = span.start + ((event.clientX - parts[name].getBoundingClientRect().left - span.left) / span.room) * (span.end - span.start)
      play(view, false)
      view.time = timeOf(view.film, at)
      draw(view)
    }
    parts[name].onpointerdown = event => (parts[name].setPointerCapture(event.pointerId), seek(event))
    parts[name].onpointermove = seek
    parts[name].onpointerup = () => travel(view, Math.round(view.time))
  }
}
