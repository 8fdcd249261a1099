// The film's data (sentviz.browser.film.through_data): read, epochAt and timeOf, held (frames of the sentence), line (a value at an epoch), right,
// tally and turned (rows at an epoch), chosen (rows of a kind), placesAt, advanced (the clock).

import { mix, moment, numbers } from "../kit/maths.js"

const PACKED = { labels: Uint8Array, said: Uint8Array, places: Float32Array }

/** Unpack the film's numbers. Times run from 0, the first epoch, to `last`. */
export function read(data) {
  const film = { ...data, last: data.epochs.length - 1 }
  for (const [name, Kind] of Object.entries(PACKED)) film[name] = numbers(data[name], Kind)
  if (data.sentence) film.sentence = { ...data.sentence, maps: data.sentence.maps && numbers(data.sentence.maps, Uint8Array) }
  return film
}

/** Return the epoch, with its fraction, at a time. */
export function epochAt({ epochs }, time) {
  return mix(epochs[Math.floor(time)], epochs[Math.ceil(time)], time - Math.floor(time))
}

/** Return the time of an epoch with its fraction, the inverse of `epochAt`. */
export function timeOf({ epochs, last }, epoch) {
  const after = epochs.findIndex(at => at >= epoch)
  if (after <= 0) return after < 0 ? last : 0
  return after - 1 + (epoch - epochs[after - 1]) / (epochs[after] - epochs[after - 1])
}

/** Return the frames of the sentence before and after a time, and the eased fraction between them. If an epoch has no frame, the one before it (else the
 * first) is used and `exact` is false: nothing is interpolated between epochs that are not neighbours.
 * @param {number[]} kept epochs with a trace of the sentence, ascending
 * @returns {{from: number, to: number, part: number, exact: boolean}} indices in `kept` */
export function held(film, kept, time) {
  const [a, b, part] = moment(time, film.last), ends = [film.epochs[a], film.epochs[b]].map(epoch => kept.indexOf(epoch))
  if (ends[0] >= 0 && ends[1] >= 0) return { from: ends[0], to: ends[1], part, exact: true }
  const now = film.epochs[Math.round(time)], at = kept.indexOf(now)
  if (at >= 0) return { from: at, to: at, part: 0, exact: true }
  const before = Math.max(kept.findLastIndex(epoch => epoch <= now), 0)
  return { from: before, to: before, part: 0, exact: false }
}

/** Interpolate a line at an epoch; outside its points, return the first or last value. @param {{x: number[], y: number[]}} line */
export function line({ x, y }, epoch) {
  const after = x.findIndex(at => at >= epoch)
  if (after === 0) return y[0]
  if (after < 0) return y.at(-1)
  return mix(y[after - 1], y[after], (epoch - x[after - 1]) / (x[after] - x[after - 1] || 1))
}

/** Return whether the prediction of row i is right at an epoch. */
export const right = ({ n, said, labels }, stop, i) => said[stop * n + i] === labels[i]

/** Count the right predictions at an epoch. */
export function tally(film, stop) {
  let count = 0
  for (let i = 0; i < film.n; i++) count += right(film, stop, i)
  return count
}

/** Count the rows that became right, and those that became wrong, at an epoch. @returns {[number, number]} */
export function turned(film, stop) {
  if (!stop) return [0, 0]
  let learned = 0, lost = 0
  for (let i = 0; i < film.n; i++) {
    const before = right(film, stop - 1, i), now = right(film, stop, i)
    learned += !before && now
    lost += before && !now
  }
  return [learned, lost]
}

/** Return the rows of a kind, those forgotten most often first; "changed" means all rows whose prediction changed. */
export function chosen({ rows }, kind) {
  const fits = row => (kind === "changed" ? !["right throughout", "never right"].includes(row.kind) : row.kind === kind)
  return rows.map((_, i) => i).filter(i => fits(rows[i])).sort((a, b) => rows[b].times - rows[a].times || a - b)
}

/** Compute the positions of all rows at a time, (m, 2). */
export function placesAt({ places, m, last }, time, into) {
  const [from, to, part] = moment(time, last), [a, b] = [from * m * 2, to * m * 2]
  for (let k = 0; k < 2 * m; k++) into[k] = mix(places[a + k], places[b + k], part)
  return into
}

/** Return the time after some milliseconds of playing, one epoch per `beat`; with `still`, only complete epochs. */
export function advanced(time, passed, last, beat, still) {
  const next = Math.min(time + passed / beat, last)
  return still ? Math.floor(next + 1e-9) : next
}
