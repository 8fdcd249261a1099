// Colours: rgb (of a hex text), gradient (positions 0..1 to colours), ramp (a table of colours), css, dark, theme (colours of the page).

import { clamp, mix } from "./maths.js"

/** Return red, green, blue, 0..255, of "#rrggbb". @returns {number[]} */
export const rgb = colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16))

export const css = channels => `rgb(${channels.map(Math.round).join(" ")})`

/** Return a function for the colours between evenly spaced stops; below 0 and above 1 it returns the first and the last stop.
 * @param {string[]} stops @returns {(at: number) => number[]} channels, not rounded */
export function gradient(stops) {
  const found = stops.map(rgb), last = found.length - 1
  return at => {
    const place = clamp(at, 0, 1) * last, i = Math.min(Math.floor(place), Math.max(last - 1, 0))
    return found[i].map((from, c) => mix(from, found[Math.min(i + 1, last)][c], place - i))
  }
}

/** Return evenly spaced colours of a scale, both ends included, as CSS. @returns {string[]} */
export function ramp(stops, count) {
  const at = gradient(stops)
  return Array.from({ length: count }, (_, i) => css(at(count > 1 ? i / (count - 1) : 0)))
}

/** Return whether text on this colour should be light. */
export function dark(colour) {
  return /^#[0-9a-f]{6}$/.test(colour) && rgb(colour).reduce((sum, part, c) => sum + part * [0.299, 0.587, 0.114][c], 0) < 110
}

/** Return the page's colours and fonts at a node, in the form that a canvas takes (kit.css names them). */
export function theme(host) {
  const style = getComputedStyle(host), pen = document.createElement("canvas").getContext("2d")
  const solid = (name, other) => {
    pen.fillStyle = other
    pen.fillStyle = style.getPropertyValue(name).trim() || other
    return pen.fillStyle
  }
  const ground = solid("--p-ground", "#ffffff"), night = dark(ground)
  return {
    ground,
    dark: night,
    ink: solid("--p-ink", "#31333f"),
    accent: solid("--p-accent", "#1b62a5"),
    muted: night ? "#a3a8b8" : "#6b7080",
    family: style.fontFamily || "sans-serif",
  }
}
