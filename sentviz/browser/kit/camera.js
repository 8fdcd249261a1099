// The camera of all views: Camera shows a line (1), a plane (2) or space (3); fitting is the scale that shows sides in a room.

import { clamp } from "./maths.js"

const YAW = -0.6, PITCH = 0.42 // radians, the first view of three dimensions
const STEEPEST = 1.5, PACE = 0.008 // radians, radians per pixel

/** Return the scale, in pixels per unit, that shows these sides in this room. @type {(room: number[], sides: number[]) => number} */
export const fitting = (room, sides) => Math.min(...sides.map((side, c) => room[c] / side))

/** Map world to pixels and back. A place is rotated about `pivot`; x, y of the rotated plane are in the middle of the picture. There is no perspective. */
export class Camera {
  x = 0
  y = 0
  scale = 1 // pixels per unit
  fitted = 1 // the scale that shows everything
  own = false // true if a visitor has moved it since it was fitted
  pivot = [0, 0, 0]
  left = 0
  top = 0
  width = 0
  height = 0

  /** @param {{dims?: 1|2|3, up?: boolean, range?: number[], bounds?: number[][]|null}} [how] `up`: y grows upwards; `range`: smallest and
   * largest scale, as factors of `fitted`; `bounds`: [low, high] of each side, which the view does not leave */
  constructor({ dims = 2, up = true, range = [1, 400], bounds = null } = {}) {
    Object.assign(this, { dims, sign: up ? 1 : -1, range, bounds })
    this.look()
  }

  /** Set the position of the picture on the canvas, in pixels. */
  frame(left, top, width, height) {
    return Object.assign(this, { left, top, width, height })
  }

  /** Turn to angles; the rows of `turn` are right, up, towards the viewer. */
  look(yaw = YAW, pitch = PITCH) {
    this.yaw = yaw
    this.pitch = clamp(pitch, -STEEPEST, STEEPEST)
    const [sy, cy, sp, cp] = [Math.sin(this.yaw), Math.cos(this.yaw), Math.sin(this.pitch), Math.cos(this.pitch)]
    this.turn = this.dims < 3 ? [1, 0, 0, 0, 1, 0, 0, 0, 1] : [cy, -sy, 0, sy * sp, cy * sp, cp, -sy * cp, -cy * cp, sp]
    return this
  }

  /** Show a complete box of the (rotated) plane, with a margin in pixels on each side. */
  fit(low, high, margin = [0, 0]) {
    const room = [this.width - 2 * margin[0], this.height - 2 * margin[1]]
    this.scale = this.fitted = fitting(room, low.map((value, c) => Math.max(high[c] - value, 1e-9)))
    this.x = (low[0] + high[0]) / 2
    this.y = low.length > 1 ? (low[1] + high[1]) / 2 : 0
    this.own = false
    return this.clamp()
  }

  /** Return the pixels of a place, and its nearness to the viewer. @returns {[number, number, number]} */
  toScreen(at, from = 0) {
    const { turn, pivot, dims } = this
    let u = 0, v = 0, near = 0
    for (let c = 0; c < dims; c++) {
      const d = at[from + c] - pivot[c]
      u += d * turn[c]
      v += d * turn[3 + c]
      near += d * turn[6 + c]
    }
    return [this.along(0, u), this.along(1, v), near]
  }

  /** Return the pixel of a value along a side of the plane. */
  along(c, value) {
    if (c) return this.top + this.height / 2 - this.sign * (value - this.y) * this.scale
    return this.left + this.width / 2 + (value - this.x) * this.scale
  }

  /** Compute the pixels of n consecutive places, (n, 2), and the nearness of each to the viewer, in units of `reach`. */
  project(places, n, into, near = null, reach = 1) {
    const { dims, scale, turn: [a, b, c, d, e, f, g, h, i], pivot: [p, q, r] } = this
    const [left, top, up] = [this.left + this.width / 2 - this.x * scale, this.top + this.height / 2 + this.sign * this.y * scale, this.sign * scale]
    for (let k = 0, at = 0; k < n; k++, at += dims) {
      const x = places[at] - p, y = dims > 1 ? places[at + 1] - q : 0, z = dims > 2 ? places[at + 2] - r : 0
      into[2 * k] = left + (a * x + b * y + c * z) * scale
      into[2 * k + 1] = top - (d * x + e * y + f * z) * up
      if (near) near[k] = (g * x + h * y + i * z) / reach
    }
    return into
  }

  /** Return the place of the (rotated) plane under a pixel. @returns {[number, number]} */
  toWorld(px, py) {
    const { left, top, width, height, scale, sign } = this
    return [this.x + (px - left - width / 2) / scale, this.y - (sign * (py - top - height / 2)) / scale]
  }

  /** Return a place with these pixels in all dimensions; in space, the one with the nearness of the pivot. */
  place(px, py) {
    const [u, v] = this.toWorld(px, py)
    return Array.from({ length: this.dims }, (_, c) => this.pivot[c] + u * this.turn[c] + v * this.turn[3 + c])
  }

  /** Return the place in the middle of the picture. */
  get middle() {
    return this.place(this.left + this.width / 2, this.top + this.height / 2)
  }

  /** Return the lowest and highest visible value along a side of the plane. @returns {[number, number]} */
  span(c) {
    const half = (c ? this.height : this.width) / 2 / this.scale, middle = c ? this.y : this.x
    return [middle - half, middle + half]
  }

  /** Apply a drag in pixels: turn space, move a plane or line. */
  drag(dx, dy) {
    return this.dims === 3 ? this.look(this.yaw + dx * PACE, this.pitch + dy * PACE) : this.pan(dx, dy)
  }

  pan(dx, dy) {
    this.x -= dx / this.scale
    this.y += (this.sign * dy) / this.scale
    this.own = true
    return this.clamp()
  }

  /** Change the scale; the place under the pixel stays there if the bounds allow it. */
  zoom(factor, px = this.left + this.width / 2, py = this.top + this.height / 2) {
    const [x, y] = this.toWorld(px, py)
    this.scale = clamp(this.scale * factor, this.fitted * this.range[0], this.fitted * this.range[1])
    const [u, v] = this.toWorld(px, py)
    this.x += x - u
    this.y += y - v
    this.own = true
    return this.clamp()
  }

  /** Let the plane follow the middle and the distance of two fingers. */
  pinch({ by: [dx, dy], factor, at }) {
    return this.pan(dx, dy).zoom(factor, ...at)
  }

  /** Move only as far as needed to show a box. */
  reveal(low, high) {
    for (const [c, name] of ["x", "y"].entries()) {
      const [start, end] = this.span(c)
      if (low[c] < start) this[name] += low[c] - start
      else if (high[c] > end) this[name] += high[c] - end
    }
    return this.clamp()
  }

  /** Centre a place at this scale or a larger one. */
  centre([x, y], scale = this.scale) {
    Object.assign(this, { x, y, scale: Math.max(this.scale, scale) })
    return this.clamp()
  }

  /** Limit the scale to the range and the view to the bounds; a side that is smaller than the picture begins at its low end. */
  clamp() {
    this.scale = clamp(this.scale, this.fitted * this.range[0], this.fitted * this.range[1])
    for (const [c, name] of ["x", "y"].entries()) {
      if (!this.bounds?.[c]) continue
      const [low, high] = this.bounds[c], half = this[name] - this.span(c)[0]
      this[name] = Math.max(low + half, Math.min(this[name], high - half))
    }
    return this
  }

  /** Return whether a part is out of view. */
  get zoomed() {
    return this.scale > this.fitted * 1.001
  }

  /** Return whether nothing more can come into view. */
  get least() {
    return this.scale <= this.fitted * this.range[0] * 1.001
  }

  /** Return a text that is equal for equal views. */
  get key() {
    const { x, y, scale, yaw, pitch, pivot, left, top, width, height } = this
    return [x, y, scale, yaw, pitch, ...pivot, left, top, width, height].join()
  }
}
