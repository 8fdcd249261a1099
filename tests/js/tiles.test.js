// The long map's codes and tiles, against the weights that they stand for.
import assert from "node:assert/strict"
import { test } from "node:test"
import { decode, drawn, labelStep, missing, stairs, units, weightAt } from "../../app/components/attention_map/tiles.js"
import { Camera } from "../../sentviz/browser/kit/camera.js"
import { near, random } from "./helpers.js"

/** Bytes as sentviz.analysis.maps.longmap.payload writes them. */
function packed(layers, labels) {
  let offset = 0
  const heads = layers.map(({ codes, ...layer }) => ({ ...layer, offset: (offset += codes.length) - codes.length }))
  const head = Buffer.from(JSON.stringify({ layers: heads, labels })), size = Buffer.alloc(4)
  size.writeUInt32LE(head.length)
  return new Uint8Array(Buffer.concat([Buffer.alloc(3), size, head, ...layers.map(({ codes }) => Buffer.from(codes.buffer))]).subarray(3))
}

const labels = n => Array.from({ length: n }, (_, i) => `word${i}`)

test("a cell's weight is that of the finest layer that holds it", () => {
  const draw = random(1), overview = Uint8Array.from({ length: 9 }, () => 256 * draw()), exact = Int8Array.from({ length: 6 }, () => 256 * draw() - 128)
  const head = decode(packed([
    { row: 0, column: 0, rows: 3, columns: 3, block: 4, scale: 2e-5, signed: false, codes: overview },
    { row: 5, column: 2, rows: 2, columns: 3, block: 1, scale: 1e-4, signed: true, codes: exact },
  ], labels(12)))
  assert.ok(head.signed)
  near(head.layers.map(layer => layer.peak), [2e-5 * 255 ** 2, 1e-4 * 127 ** 2])
  for (let row = 0; row < 12; row++) {
    for (let column = 0; column < 12; column++) {
      const fine = row >= 5 && row < 7 && column >= 2 && column < 5, code = fine ? exact[3 * (row - 5) + column - 2] : overview[3 * Math.floor(row / 4) + Math.floor(column / 4)]
      near(weightAt(head, row, column), [(fine ? 1e-4 : 2e-5) * Math.sign(code) * code ** 2, fine ? 1 : 4])
    }
  }
  assert.deepEqual(weightAt(head, 12, 0), [0, 1])
})

test("exact tiles are drawn where cells are large", () => {
  const head = { layers: ["overview", "tile"] }
  assert.deepEqual(drawn(head, { width: 600, height: 500, scale: 2 }), ["overview", "tile"])
  assert.deepEqual(drawn(head, { width: 600, height: 500, scale: 1 }), ["overview"])
  assert.deepEqual(drawn({ layers: ["all"] }, { width: 600, height: 500, scale: 1 }), ["all"])
})

/** A camera that looks at so many units a side from (left, top) on. */
function looking(count, left, top, side) {
  const camera = new Camera({ up: false, bounds: [[0, count], [0, count]] }).frame(70, 60, 500, 500)
  camera.fitted = 500 / count
  return camera.centre([left + side / 2, top + side / 2], 500 / side)
}

test("what is in view is asked for with what lies around, unless a tile holds it or it is too much", () => {
  const overview = { row: 0, column: 0, rows: 250, columns: 250, block: 8 }, head = { layers: [overview], labels: labels(2000) }
  const near100 = looking(2000, 700, 30, 100)
  assert.deepEqual([units(near100, 0, 2000), units(near100, 1, 2000)], [[700, 800], [30, 130]])
  assert.deepEqual(missing(head, near100), [0, 190, 640, 860])
  assert.equal(missing(head, looking(2000, 700, 30, 400)), null)
  const tile = { row: 0, column: 640, rows: 190, columns: 220, block: 1 }
  assert.equal(missing({ ...head, layers: [overview, tile] }, near100), null)
  assert.deepEqual(missing({ ...head, layers: [overview, { ...tile, rows: 129 }] }, near100), [0, 190, 640, 860])
  assert.deepEqual(missing(head, looking(2000, 1900, 1900, 100)), [1840, 2000, 1840, 2000])
})

test("positions are written at least 44 pixels apart", () => {
  for (const zoom of [0.02, 0.3, 1, 2.2, 5, 9]) assert.ok(labelStep(zoom) * zoom >= 44)
  assert.deepEqual([0.001, 0.5, 1, 9].map(labelStep), [10000, 100, 50, 5])
})

test("the edge of a window is a stair of its rows", () => {
  assert.deepEqual(stairs([0, 0, 1, 2], 1, 3), [[0, 1], [0, 2], [1, 2], [1, 3]])
  assert.deepEqual(stairs([5], 1, 1), [])
})
