// The map as it came and which of its layers are seen: decode, weightAt, drawn, missing, stairs, labelStep; picture colours a layer.

import { gradient } from "../../../sentviz/browser/kit/colour.js"

/** Head and layers of sentviz.analysis.maps.longmap.payload: 4 bytes length, JSON, codes. */
export function decode(bytes) {
  const start = 4 + new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true)
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)))
  for (const layer of head.layers) {
    const Kind = layer.signed ? Int8Array : Uint8Array
    layer.codes = new Kind(bytes.buffer, bytes.byteOffset + start + layer.offset, layer.rows * layer.columns)
    layer.peak = layer.scale * (layer.signed ? 127 : 255) ** 2
  }
  head.signed = head.layers.some(layer => layer.signed)
  return head
}

/** The weight of a cell, of the last layer that holds it: [weight, units a side]. */
export function weightAt(head, row, column) {
  for (const layer of [...head.layers].reverse()) {
    const r = Math.floor((row - layer.row) / layer.block)
    const c = Math.floor((column - layer.column) / layer.block)
    if (r >= 0 && c >= 0 && r < layer.rows && c < layer.columns) {
      const code = layer.codes[r * layer.columns + c]
      return [layer.scale * code * Math.abs(code), layer.block]
    }
  }
  return [0, 1]
}

/** The layers worth drawing: the overview alone until exact tiles fill the view. */
export function drawn({ layers }, { width, height, scale }) {
  return Math.max(width, height) / scale <= 420 ? layers : layers.slice(0, 1)
}

/** First and last unit in view along a side: 0 columns, 1 rows. */
export function units(camera, side, count) {
  const [low, high] = camera.span(side)
  return [Math.max(Math.floor(low), 0), Math.min(Math.ceil(high), count)]
}

/** The part around what is in view, [top, bottom, left, right], where it is small enough to be sent exactly and no layer holds what is in view so; else null. */
export function missing({ layers, labels }, camera) {
  const [left, right] = units(camera, 0, labels.length), [top, bottom] = units(camera, 1, labels.length)
  if (Math.max(bottom - top, right - left) > 300) return null
  const holds = l => l.block === 1 && l.row <= top && l.column <= left && l.row + l.rows >= bottom && l.column + l.columns >= right
  const [before, after] = [first => Math.max(first - 60, 0), last => Math.min(last + 60, labels.length)]
  return layers.some(holds) ? null : [before(top), after(bottom), before(left), after(right)]
}

/** Corners [column, row] of the edge of rows [first, last), each at its own column. */
export const stairs = (columns, first, last) => columns.slice(first, last).flatMap((column, i) => [[column, first + i], [column, first + i + 1]])

/** Every how many units a position is written, where a unit is so many pixels. */
export const labelStep = zoom => [5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000].find(step => step * zoom >= 44) || 10000

/** A layer as an image of one pixel a cell, coloured up to its own largest weight; 0 is neutral where any weight is negative. */
export function picture(layer, head, stops, root) {
  const table = new Uint8ClampedArray(4 * 256), colour = gradient(stops)
  for (let i = 0; i < 256; i++) {
    const code = layer.signed ? i - 128 : i
    const size = layer.scale * code * code / (layer.peak || 1)
    const part = Math.sign(code) * (root ? Math.sqrt(size) : size)
    table.set([...colour(head.signed ? 0.5 + part / 2 : part), 255], 4 * i)
  }
  const canvas = Object.assign(document.createElement("canvas"), { width: layer.columns, height: layer.rows })
  const image = new ImageData(layer.columns, layer.rows)
  const shift = layer.signed ? 128 : 0
  const pixels = new Uint32Array(image.data.buffer), colours = new Uint32Array(table.buffer)
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[layer.codes[i] + shift]
  canvas.getContext("2d").putImageData(image, 0, 0)
  return canvas
}
