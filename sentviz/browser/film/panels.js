// The panels on canvases: map, points, counts, lines. Each sets the height of its canvas and draws on it.

import { allowed, sized } from "../kit/canvas.js"
import { dark, gradient } from "../kit/colour.js"
import { fixed, percent, shorten, ticks } from "../kit/format.js"
import { clamp, mix } from "../kit/maths.js"
import { disc, ink, path, say } from "../kit/pen.js"
import { held, placesAt, right } from "./scene.js"

const NAMED = 40 // tokens up to which a map shows their names
const TABLE = 256 // number of colours of a map

/** Clear a canvas of a given height and return its pen, in CSS pixels; null while it has no width. */
function sheet(canvas, height) {
  const width = canvas.parentElement.clientWidth - (canvas.parentElement.classList.contains("panel") ? 24 : 0)
  if (width < 40) return null
  sized(canvas, width, allowed(canvas, height(width)))
  const pen = canvas.getContext("2d"), ratio = canvas.width / width
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.clearRect(0, 0, width, canvas.height / ratio)
  return { pen, width, height: canvas.height / ratio }
}

/** Return `TABLE` colours of a scale as red, green, blue. */
export function table(stops) {
  const at = gradient(stops)
  return Uint8ClampedArray.from({ length: 3 * TABLE }, (_, k) => at(Math.floor(k / 3) / (TABLE - 1))[k % 3])
}

/** Draw the sentence's map with one pixel per cell, then enlarge it. */
export function paintMap(view) {
  const { film: { sentence }, look, parts } = view, n = sentence.tokens.length, side = room => Math.min(room, 440)
  const named = n <= NAMED, on = sheet(parts.map, width => side(width))
  if (!on) return
  const { pen, width, height } = on, { from, to, part } = held(view.film, sentence.epochs, view.time)
  const colours = sentence.signed ? look.signed : look.sequential, size = n * n
  view.cells ||= new OffscreenCanvas(n, n)
  const small = view.cells.getContext("2d"), picture = small.createImageData(n, n)
  for (let k = 0; k < size; k++) {
    const c = 3 * Math.round(mix(sentence.maps[from * size + k], sentence.maps[to * size + k], part))
    for (let channel = 0; channel < 3; channel++) picture.data[4 * k + channel] = colours[c + channel]
    picture.data[4 * k + 3] = 255
  }
  small.putImageData(picture, 0, 0)
  const [least, most] = [11 * 0.56, Math.min(110, width * 0.26)]
  const names = named ? clamp(Math.max(...sentence.tokens.map(token => token.length)) * least + 12, 30, most) : 8, box = Math.min(width - names - 4, height - names - 4), cell = box / n
  view.grid = { left: names, top: names, cell, n }
  pen.imageSmoothingEnabled = false
  pen.drawImage(view.cells, names, names, box, box)
  if (!named) return
  const font = `${clamp(Math.floor(cell * 0.8), 7, 12)}px ${look.family}`
  const letters = Math.floor((names - 8) / (clamp(cell * 0.8, 7, 12) * 0.52))
  for (const [i, token] of sentence.tokens.entries()) {
    const at = names + (i + 0.5) * cell, text = shorten(token, letters)
    say(pen, text, names - 5, at, { colour: look.ink, font, align: "right" })
    pen.save()
    pen.translate(at, names - 5)
    pen.rotate(-Math.PI / 2)
    say(pen, text, 0, 0, { colour: look.ink, font })
    pen.restore()
  }
}

const SIDES = [0, 4, 4, 12, 8]

/** Draw all rows as points: wrong ones with a ring, the row under the pointer with its path through all epochs. */
export function paintPoints(view) {
  const { film, look, parts } = view, on = sheet(parts.points, width => Math.min(width, 430))
  if (!on) return
  const { pen, width, height } = on, { m, labels } = film, stop = Math.round(view.time)
  const scale = Math.min(width, height) / 2 - 12
  const at = (view.at = placesAt(film, view.time, view.at?.length === 2 * m ? view.at : new Float32Array(2 * m)))
  const spot = view.spots?.length === 2 * m ? view.spots : (view.spots = new Float32Array(2 * m))
  for (let i = 0; i < m; i++) {
    spot[2 * i] = width / 2 + at[2 * i] * scale
    spot[2 * i + 1] = height / 2 - at[2 * i + 1] * scale
  }
  pen.strokeStyle = look.line
  pen.strokeRect(0.5, 0.5, width - 1, height - 1)
  const lit = view.lit !== null && view.lit < m ? view.lit : null
  if (lit !== null) {
    const way = film.epochs.map((_, k) => [width / 2 + film.places[2 * (k * m + lit)] * scale, height / 2 - film.places[2 * (k * m + lit) + 1] * scale])
    path(pen, way)
    ink(pen, { line: look.ink, width: 1.5, alpha: 0.7 })
    for (const [k, place] of way.entries()) {
      disc(pen, place, 2)
      ink(pen, { fill: right(film, k, lit) ? look.good : look.bad })
    }
  }
  for (let i = 0; i < m; i++) {
    const place = [spot[2 * i], spot[2 * i + 1]], wrong = !right(film, stop, i), colour = look.classes[labels[i]]
    shape(pen, place, labels[i], i === lit ? 6 : 4)
    ink(pen, { fill: colour, alpha: lit === null || i === lit ? 0.85 : 0.35 })
    if (wrong) ink(pen, { line: look.ink, width: 1.5, alpha: lit === null || i === lit ? 1 : 0.35 })
  }
  pen.globalAlpha = 1
}

/** Draw the sign of a class, so that classes differ in more than colour. */
function shape(pen, [x, y], kind, size) {
  const corners = SIDES[kind % SIDES.length]
  if (!corners) return disc(pen, [x, y], size)
  const turn = kind % SIDES.length === 2 ? Math.PI / 4 : 0
  const points = Array.from({ length: corners }, (_, k) => {
    const far = size * (corners === 4 ? 1.2 : k % 2 ? 0.55 : 1.3), angle = turn + (2 * Math.PI * k) / corners
    return [x + far * Math.cos(angle), y + far * Math.sin(angle)]
  })
  path(pen, points, true)
}

/** Draw the confusion matrix: counts of the nearer epoch, interpolated colours; their strength is that of `sentviz.charts.confusion.strength`. */
export function paintCounts(view) {
  const { film, look, parts } = view, k = film.classes.length, on = sheet(parts.counts, width => Math.min(width, 430))
  if (!on) return
  const { pen, width, height } = on, stop = Math.round(view.time), counts = film.counts[stop]
  const from = film.counts[Math.floor(view.time)], to = film.counts[Math.ceil(view.time)], part = view.time - Math.floor(view.time)
  const share = (table, i, j) => table[i][j] / Math.max(1, table[i].reduce((sum, n) => sum + n, 0))
  const left = Math.min(84, width * 0.25), top = 26, wide = (width - left) / k, high = (height - top) / k, letters = Math.floor(left / 7)
  for (let i = 0; i < k; i++) {
    say(pen, shorten(film.classes[i], letters), left - 8, top + (i + 0.5) * high, { colour: look.ink, font: `12px ${look.family}`, align: "right" })
    say(pen, shorten(film.classes[i], Math.max(3, Math.floor(wide / 7))), left + (i + 0.5) * wide, top / 2, { colour: look.ink, font: `12px ${look.family}`, align: "center" })
    for (let j = 0; j < k; j++) {
      const at = mix(share(from, i, j), share(to, i, j), part), strength = i === j ? 0.25 * at : -Math.sqrt(Math.min(2 * at, 1))
      const c = 3 * Math.round((TABLE - 1) * (0.5 + strength / 2))
      const fill = [0, 1, 2].map(channel => look.judged[c + channel])
      const hex = `#${fill.map(value => value.toString(16).padStart(2, "0")).join("")}`
      pen.globalAlpha = 1
      pen.fillStyle = hex
      pen.fillRect(left + j * wide + 1, top + i * high + 1, wide - 2, high - 2)
      if (k > 8) continue
      const colour = dark(hex) ? "#ffffff" : "#000000", [x, y] = [left + (j + 0.5) * wide, top + (i + 0.5) * high]
      say(pen, counts[i][j].toLocaleString("en"), x, k < 5 ? y - 8 : y, { colour, font: `600 ${k < 5 ? 16 : 12}px ${look.family}`, align: "center" })
      if (k < 5) say(pen, percent(share(counts, i, j)), x, y + 12, { colour, font: `12px ${look.family}`, align: "center" })
    }
  }
}

/** Draw lines over the epochs with a cursor, and bands if there are intervals. */
export function paintLines(view, canvas, lines, epoch) {
  const { film, look } = view, on = sheet(canvas, width => Math.min(width * 0.55, 210))
  if (!on) return
  const { pen, width, height } = on
  const [left, top, room, high] = [44, 8, width - 44 - 10, height - 8 - 22]
  const [start, end] = [Math.min(...lines.map(one => one.x[0]), film.epochs[0]), Math.max(...lines.map(one => one.x.at(-1)), film.epochs.at(-1))]
  const all = lines.flatMap(one => [...one.y, ...(one.low || []), ...(one.high || [])])
  const [least, most] = [Math.min(...all), Math.max(...all)], pad = 0.06 * (most - least) || 0.05 * Math.abs(most) || 1
  const [low, span] = [least - pad, most - least + 2 * pad]
  const x = value => left + ((value - start) / (end - start || 1)) * room, y = value => top + high - ((value - low) / span) * high
  for (const [value, text] of ticks([low, low + span], (2 * high) / span)) {
    path(pen, [[left, y(value)], [left + room, y(value)]])
    ink(pen, { line: look.line })
    say(pen, text, left - 6, y(value), { colour: look.muted, font: `11px ${look.family}`, align: "right" })
  }
  const marked = Math.max(1, Math.ceil((film.epochs.length * 26) / room))
  for (const [k, at] of film.epochs.entries()) {
    if (k % marked === 0) say(pen, String(at), x(at), height - 10, { colour: look.muted, font: `11px ${look.family}`, align: "center" })
  }
  for (const [k, one] of lines.entries()) {
    const colour = look.lines[k % look.lines.length]
    if (one.low) {
      path(pen, [...one.x.map((at, i) => [x(at), y(one.high[i])]), ...one.x.map((at, i) => [x(at), y(one.low[i])]).reverse()], true)
      ink(pen, { fill: colour, alpha: 0.18 })
    }
    path(pen, one.x.map((at, i) => [x(at), y(one.y[i])]))
    ink(pen, { line: colour, width: 2, dash: k < look.lines.length ? undefined : [5, 3] })
  }
  path(pen, [[x(epoch), top], [x(epoch), top + high]])
  ink(pen, { line: look.ink, width: 1.5, alpha: 0.8 })
  view.spans.set(canvas, { left, room, start, end })
}

/** Return the number of decimals that distinguishes the values of lines. */
export const told = (value, lines) => {
  const all = lines.flatMap(one => one.y), span = Math.max(...all) - Math.min(...all)
  return fixed(value, clamp(2 - Math.floor(Math.log10(span || 1)), 2, 4))
}
