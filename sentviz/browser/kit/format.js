// Numbers and words as text: fixed, weight, percent, some, isRightToLeft, ticks, shorten, fitText. Minus signs are typographic ones.

const minus = text => text.replace("-", "−")

/** @type {(value: number, digits?: number) => string} */
export const fixed = (value, digits = 2) => minus(value.toFixed(digits))

/** Write a weight of a map, small or large. */
export function weight(value) {
  const size = Math.abs(value)
  const text = size === 0 ? "0" : size >= 0.01 ? size.toFixed(3) : size >= 1e-5 ? String(Number(size.toPrecision(2))) : minus(size.toExponential(1))
  return (value < 0 ? "−" : "") + text
}

/** Write a share in per cent; a space that does not break is before the sign. @type {(part: number, digits?: number) => string} */
export const percent = (part, digits = 0) => `${fixed(100 * part, digits)}\u00a0%`

const RIGHT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** Return whether most letters of a text are written from right to left. @type {(text: string) => boolean} */
export const isRightToLeft = text => {
  const letters = text.match(/\p{L}/gu) ?? []
  return 2 * letters.filter(letter => RIGHT.test(letter)).length > letters.length
}

/** Write a number with its noun: "1 token", "2,000 tokens". */
export const some = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`

/** Return the visible round numbers that are at least 70 pixels apart, with their texts.
 * @param {[number, number]} span lowest and highest value @param {number} scale pixels per unit @returns {[number, string][]} */
export function ticks([low, high], scale) {
  const step = [1, 2, 5, 10].map(k => k * 10 ** Math.floor(Math.log10(90 / scale))).find(k => k * scale >= 70)
  const first = Math.ceil(low / step), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9))
  return Array.from({ length: Math.max(Math.floor(high / step) - first + 1, 0) }, (_, k) => [(first + k) * step, fixed((first + k) * step, digits)])
}

/** Cut a text to a number of letters. */
export const shorten = (text, most) => (text.length <= most ? text : `${Array.from(text).slice(0, most - 1).join("")}…`)

/** Cut a text to the room in pixels. @param {(text: string) => number} measure pixels of a text */
export function fitText(text, room, measure) {
  if (text.length < 40 && measure(text) <= room) return text
  const letters = Array.from(text.slice(0, 80))
  let keep = letters.length
  while (keep > 1 && measure(`${letters.slice(0, keep).join("")}…`) > room) keep--
  return `${letters.slice(0, keep).join("")}…`
}
