// The map as it came: bytes to codes, codes to weights, weights to colours.

/** Head and layers of sentviz.maps.longmap.payload: 4 bytes length, JSON, codes. */
function decode(bytes) {
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
function weightAt(head, row, column) {
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

function channels(colour) {
  return [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16))
}

/** Colour of a position 0..1 on evenly spaced stops. */
function blend(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1)
  const i = Math.min(Math.floor(place), stops.length - 2)
  const [a, b] = [channels(stops[i]), channels(stops[i + 1])]
  return a.map((from, k) => Math.round(from + (b[k] - from) * (place - i)))
}

/** A layer as an image of one pixel a cell, coloured up to its own largest weight; 0 is neutral where any weight is negative. */
function picture(layer, head, stops, root) {
  const table = new Uint8ClampedArray(4 * 256)
  for (let i = 0; i < 256; i++) {
    const code = layer.signed ? i - 128 : i
    const size = layer.scale * code * code / (layer.peak || 1)
    const part = Math.sign(code) * (root ? Math.sqrt(size) : size)
    table.set([...blend(stops, head.signed ? 0.5 + part / 2 : part), 255], 4 * i)
  }
  const canvas = document.createElement("canvas")
  canvas.width = layer.columns
  canvas.height = layer.rows
  const image = new ImageData(layer.columns, layer.rows)
  const shift = layer.signed ? 128 : 0
  const pixels = new Uint32Array(image.data.buffer), colours = new Uint32Array(table.buffer)
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[layer.codes[i] + shift]
  canvas.getContext("2d").putImageData(image, 0, 0)
  return canvas
}

/** A weight for people, with a true minus. */
function shown(weight) {
  const size = Math.abs(weight)
  const text = size === 0 ? "0" : size >= 0.01 ? size.toFixed(3) : size >= 1e-5 ? String(Number(size.toPrecision(2))) : size.toExponential(1).replace("-", "−")
  return (weight < 0 ? "−" : "") + text
}
