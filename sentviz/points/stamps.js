// Points on a canvas without a graphics card: each is stamped into the pixels, with the shapes that the card draws.

const FINE = 4 // places of a stamp within a pixel, along each side
const RING = 5 // after the symbols
const DEPTHS = 64 // steps from far to near in three dimensions

function stamps(canvas) {
  const pen = canvas.getContext("2d", { willReadFrequently: true })
  const kept = new Map()
  let tints, symbols, order, picture
  const stamp = (shape, size, x, y) => {
    const key = (((shape * 256 + size * 4) * FINE + x) * FINE + y) | 0
    if (!kept.has(key)) kept.set(key, cut(shape, size, x / FINE, y / FINE))
    return kept.get(key)
  }
  return {
    points() {},
    leave() {},
    look(tint, symbol, rows) {
      tints = tint
      symbols = symbol
      order = rows
    },
    draw(view, passes, ratio) {
      const { width, height } = canvas
      if (picture?.width !== width || picture.height !== height) picture = new ImageData(width, height)
      const out = picture.data, at = spots(view), deep = view.scene.dims === 3
      out.fill(0)
      for (const { start, count, alpha, size, ring } of passes) {
        const rows = order.subarray(start, start + count), pixels = Math.round(4 * size * ratio) / 4
        for (const i of deep ? sorted(rows, view.near) : rows) {
          const x = at[2 * i] * ratio, y = at[2 * i + 1] * ratio
          const wide = deep ? Math.round(4 * size * ratio * (1 + 0.35 * view.near[i])) / 4 : pixels
          const { side, cover } = stamp(ring ? RING : symbols[i], wide, Math.floor((x - Math.floor(x)) * FINE), Math.floor((y - Math.floor(y)) * FINE))
          const left = Math.floor(x) - (side >> 1), top = Math.floor(y) - (side >> 1)
          if (left + side < 0 || top + side < 0 || left >= width || top >= height) continue
          const [r, g, b] = ring ? [255 * ring[0], 255 * ring[1], 255 * ring[2]] : [tints[3 * i], tints[3 * i + 1], tints[3 * i + 2]]
          for (let v = Math.max(-top, 0); v < Math.min(side, height - top); v++) {
            for (let u = Math.max(-left, 0); u < Math.min(side, width - left); u++) {
              const a = cover[v * side + u] * alpha
              if (!a) continue
              const k = 4 * ((top + v) * width + left + u), all = a + (out[k + 3] / 255) * (1 - a), part = a / all
              out[k] += (r - out[k]) * part
              out[k + 1] += (g - out[k + 1]) * part
              out[k + 2] += (b - out[k + 2]) * part
              out[k + 3] = 255 * all
            }
          }
        }
      }
      pen.putImageData(picture, 0, 0)
    },
  }
}

/** How far each pixel is covered (0..1) by a symbol of a size whose middle lies at x, y within the middle pixel. */
function cut(shape, size, x, y) {
  const half = Math.ceil(size / 2) + 1, side = 2 * half + 1, cover = new Float32Array(side * side)
  const plus = (p, q) => Math.min(Math.max(p - 0.9, q - 0.3), Math.max(p - 0.3, q - 0.9))
  const shapes = [
    (p, q) => Math.hypot(p, q) - 0.8,
    (p, q) => (p + q - 0.98) * 0.71,
    (p, q) => Math.max(p, q) - 0.7,
    plus,
    (p, q, u, v) => plus(0.71 * Math.abs(u + v), 0.71 * Math.abs(u - v)),
    (p, q) => Math.abs(Math.hypot(p, q) - 0.8) - 1.3 / size,
  ]
  for (let v = 0; v < side; v++) {
    for (let u = 0; u < side; u++) {
      const [p, q] = [(2 * (u - half + 0.5 - x)) / size, (2 * (v - half + 0.5 - y)) / size]
      const far = shapes[shape](Math.abs(p), Math.abs(q), p, q)
      cover[v * side + u] = Math.min(Math.max(0.5 - far * size * 0.5, 0), 1)
    }
  }
  return { side, cover }
}

/** Rows from far to near. */
function sorted(rows, near) {
  const step = i => Math.min(Math.max(Math.floor(((near[i] + 1) / 2) * DEPTHS), 0), DEPTHS - 1)
  const starts = new Uint32Array(DEPTHS + 1), found = new Uint32Array(rows.length)
  for (const i of rows) starts[step(i) + 1] += 1
  for (let k = 0; k < DEPTHS; k++) starts[k + 1] += starts[k]
  for (const i of rows) found[starts[step(i)]++] = i
  return found
}
