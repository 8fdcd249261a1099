// Small maths: clamp, mix, ease, moment (position of a clock between layers), numbers (packed arrays).

/** @type {(value: number, low: number, high: number) => number} */
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high)

/** @type {(a: number, b: number, part: number) => number} */
export const mix = (a, b, part) => a + (b - a) * part

/** Ease a fraction: slow at both ends of a layer. @type {(part: number) => number} */
export const ease = part => part * part * (3 - 2 * part)

/** Return the layers before and after a time, 0 to `last`, and the eased fraction between them; at the last layer, the fraction is 1.
 * @type {(time: number, last: number) => [number, number, number]} */
export function moment(time, last) {
  const from = Math.min(Math.floor(time), Math.max(last - 1, 0))
  return [from, Math.min(from + 1, last), last ? ease(time - from) : 0]
}

/** Decode base64 of little-endian numbers to a typed array. @param {string} text @param {Function} Kind for example Float32Array */
export function numbers(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer)
}
