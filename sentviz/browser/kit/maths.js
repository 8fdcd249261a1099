// Small maths: clamp, mix, ease, moment (where a clock stands between layers), numbers (packed arrays).

/** @type {(value: number, low: number, high: number) => number} */
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high)

/** @type {(a: number, b: number, part: number) => number} */
export const mix = (a, b, part) => a + (b - a) * part

/** Slow at both ends of a layer, so that each layer is a beat. @type {(part: number) => number} */
export const ease = part => part * part * (3 - 2 * part)

/** The layers around a time, of 0 to `last`, and the eased part of the way; the last layer is the end of the way to it.
 * @type {(time: number, last: number) => [number, number, number]} */
export function moment(time, last) {
  const from = Math.min(Math.floor(time), Math.max(last - 1, 0))
  return [from, Math.min(from + 1, last), last ? ease(time - from) : 0]
}

/** Base64 of little-endian numbers as a typed array. @param {string} text @param {Function} Kind such as Float32Array */
export function numbers(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer)
}
