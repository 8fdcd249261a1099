// stamps: points on a canvas without a graphics card, each written into the pixels, with the same shapes.

import { clamp } from "../kit/maths.js"
import { spots } from "./places.js"

const FINE = 4 // positions of a stamp within a pixel, along each side
const RING = 5 // index of the ring, after the symbols
const DEPTHS = 64 // steps from far to near in three dimensions

export function stamps(canvas) {
  const pen = canvas.getContext("2d", { willReadFrequently: true })
  const kept = new Map()
  let tints, symbols, order, picture, out
  const stamp = (shape, size, x, y) => {
    const key = ((shape * 512 + size * 4) * FINE + x) * FINE + y
    let found = kept.get(key)
    if (!found) kept.set(key, (found = cut(shape, size, (x + 0.5) / FINE, (y + 0.5) / FINE)))
    return found
  }
  return {
    points() {},
    leave() {},
    look(tint, symbol, rows) {
      tints = Int32Array.from({ length: symbol.length }, (_, i) => tint[3 * i] | (tint[3 * i + 1] << 8) | (tint[3 * i + 2] << 16))
      symbols = symbol
      order = rows
    },
    draw(view, passes, ratio) {
      const { width, height } = canvas, at = spots(view), deep = view.scene.dims === 3
      if (picture?.width !== width || picture.height !== height) {
        picture = new ImageData(width, height)
        out = new Int32Array(picture.data.buffer)
      }
      out.fill(0)
      for (const { start, count, alpha, size, ring } of passes) {
        const rows = order.subarray(start, start + count), strength = Math.round(256 * alpha)
        const ink = ring && ring.slice(0, 3).reduce((sum, part, c) => sum | (Math.round(255 * part) << (8 * c)), 0)
        for (const i of deep ? sorted(rows, view.near) : rows) {
          const x = at[2 * i] * ratio, y = at[2 * i + 1] * ratio, left = Math.floor(x), top = Math.floor(y)
          const wide = Math.round(4 * ratio * (deep ? size * (1 + 0.35 * view.near[i]) : size)) / 4
          const { far, xs, ys, covers } = stamp(ring ? RING : symbols[i], wide, Math.floor((x - left) * FINE), Math.floor((y - top) * FINE))
          if (left < -far || top < -far || left >= width + far || top >= height + far) continue
          const edge = left < far || top < far || left >= width - far || top >= height - far
          const colour = ring ? ink : tints[i]
          for (let k = 0; k < covers.length; k++) {
            const u = left + xs[k], v = top + ys[k]
            if (edge && (u < 0 || v < 0 || u >= width || v >= height)) continue
            const spot = v * width + u
            out[spot] = over(out[spot], colour, (covers[k] * strength) >> 8)
          }
        }
      }
      pen.putImageData(picture, 0, 0)
    },
  }
}

/** Blend a colour over a pixel with a strength of 1..255, in signed 32-bit numbers, which browsers calculate fastest. */
function over(under, colour, strength) {
  const there = under >>> 24
  if (there === 0) return (strength << 24) | colour
  const all = strength + ((there * (255 - strength)) >> 8), part = ((strength << 8) / all) | 0
  const r = under & 255, g = (under >> 8) & 255, b = (under >> 16) & 255
  return (
    (all << 24) |
    ((b + (((((colour >> 16) & 255) - b) * part) >> 8)) << 16) |
    ((g + (((((colour >> 8) & 255) - g) * part) >> 8)) << 8) |
    (r + ((((colour & 255) - r) * part) >> 8))
  )
}

/** Return the pixels that a symbol covers, relative to the pixel that has its middle at x, y (0..1), and their coverage, 1..255. */
function cut(shape, size, x, y) {
  const far = Math.ceil(size / 2) + 1, xs = [], ys = [], covers = []
  const plus = (p, q) => Math.min(Math.max(p - 0.9, q - 0.3), Math.max(p - 0.3, q - 0.9))
  const shapes = [
    (p, q) => Math.hypot(p, q) - 0.8,
    (p, q) => (p + q - 0.98) * 0.71,
    (p, q) => Math.max(p, q) - 0.7,
    plus,
    (p, q, u, v) => plus(0.71 * Math.abs(u + v), 0.71 * Math.abs(u - v)),
    (p, q) => Math.abs(Math.hypot(p, q) - 0.8) - 1.3 / size,
  ]
  for (let v = -far; v <= far; v++) {
    for (let u = -far; u <= far; u++) {
      const [p, q] = [(2 * (u + 0.5 - x)) / size, (2 * (v + 0.5 - y)) / size]
      const cover = Math.round(255 * clamp(0.5 - shapes[shape](Math.abs(p), Math.abs(q), p, q) * size * 0.5, 0, 1))
      if (!cover) continue
      xs.push(u)
      ys.push(v)
      covers.push(cover)
    }
  }
  return { far, xs: Int16Array.from(xs), ys: Int16Array.from(ys), covers: Uint8Array.from(covers) }
}

/** Sort rows from far to near. */
function sorted(rows, near) {
  const step = i => clamp(Math.floor(((near[i] + 1) / 2) * DEPTHS), 0, DEPTHS - 1)
  const starts = new Uint32Array(DEPTHS + 1), found = new Uint32Array(rows.length)
  for (const i of rows) starts[step(i) + 1] += 1
  for (let k = 0; k < DEPTHS; k++) starts[k + 1] += starts[k]
  for (const i of rows) found[starts[step(i)]++] = i
  return found
}
