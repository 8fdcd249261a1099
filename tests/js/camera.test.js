// The camera against calculations of its own: rotation by matrices, round trips, what stays under the pointer, what is in view.
import assert from "node:assert/strict"
import { test } from "node:test"
import { Camera, fitting } from "../../sentviz/browser/kit/camera.js"
import { fits, tall } from "../../sentviz/browser/points/places.js"
import { near, random } from "./helpers.js"

const ROUNDS = 200

/** A camera somewhere. */
function any(draw, dims, how = {}) {
  const camera = new Camera({ dims, up: draw() < 0.5, ...how }).frame(100 * draw(), 50 * draw(), 200 + 800 * draw(), 150 + 500 * draw())
  camera.fitted = camera.scale = Math.exp(4 * draw())
  Object.assign(camera, { x: 10 * draw() - 5, y: dims > 1 ? 10 * draw() - 5 : 0, pivot: dims === 3 ? [draw(), draw(), draw()] : [0, 0, 0] })
  return dims === 3 ? camera.look(7 * draw(), 3 * draw() - 1.5) : camera
}

/** Rows times a column. */
const times = (rows, at) => rows.map(row => row.reduce((sum, value, c) => sum + value * at[c], 0))

test("pixels and places are each other's inverse", () => {
  const draw = random(1)
  for (const dims of [1, 2, 3]) {
    for (let k = 0; k < ROUNDS; k++) {
      const camera = any(draw, dims), [px, py] = [1000 * draw(), 600 * draw()]
      const at = camera.place(px, py)
      assert.equal(at.length, dims)
      const [u, v, deep] = camera.toScreen(at)
      near([u, dims > 1 ? v : py], [px, py])
      if (dims === 3) assert.ok(Math.abs(deep) < 1e-9)
      if (dims < 3) near(camera.toWorld(...camera.toScreen(at)).slice(0, dims), at)
    }
  }
})

test("space is turned about the vertical, then tipped towards the eye", () => {
  const draw = random(2)
  for (let k = 0; k < ROUNDS; k++) {
    const camera = any(draw, 3), { yaw, pitch, pivot, scale, x, y, sign } = camera
    const at = [draw(), draw(), draw()], away = at.map((value, c) => value - pivot[c])
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)]
    const [right, back, high] = times([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]], away)
    const [, up, front] = times([[1, 0, 0], [0, sp, cp], [0, -cp, sp]], [right, back, high])
    const [mx, my] = [camera.left + camera.width / 2, camera.top + camera.height / 2]
    near(camera.toScreen(at), [mx + (right - x) * scale, my - sign * (up - y) * scale, front])
    near([Math.hypot(right, up, front)], [Math.hypot(...away)])
  }
})

test("many points are projected as one by one", () => {
  const draw = random(3)
  for (const dims of [1, 2, 3]) {
    const camera = any(draw, dims), places = Float64Array.from({ length: 50 * dims }, draw)
    const flat = new Float64Array(100), deep = new Float64Array(50)
    assert.equal(camera.project(places, 50, flat, deep, 4), flat)
    for (let i = 0; i < 50; i++) {
      const [x, y, z] = camera.toScreen([...places.slice(i * dims, (i + 1) * dims)])
      near([flat[2 * i], flat[2 * i + 1], deep[i]], [x, y, z / 4])
      near(camera.toScreen(places, i * dims), [x, y, z])
    }
  }
})

test("zooming keeps what lies under the pointer, within the range", () => {
  const draw = random(4)
  for (const dims of [1, 2, 3]) {
    for (let k = 0; k < ROUNDS; k++) {
      const camera = any(draw, dims, { range: [0.5, 40] }), [px, py] = [1000 * draw(), 600 * draw()]
      const before = camera.place(px, py), scale = camera.scale, factor = Math.exp(12 * draw() - 6)
      camera.zoom(factor, px, py)
      near(camera.place(px, py), before)
      near([camera.scale], [Math.min(Math.max(scale * factor, 0.5 * camera.fitted), 40 * camera.fitted)])
      assert.ok(camera.own)
    }
  }
})

test("a drag takes the plane along, and turns space within limits", () => {
  const draw = random(5)
  for (let k = 0; k < ROUNDS; k++) {
    const plane = any(draw, 2), [px, py, dx, dy] = [500 * draw(), 400 * draw(), 90 * draw() - 45, 90 * draw() - 45]
    const held = plane.toWorld(px, py)
    near(plane.drag(dx, dy).toWorld(px + dx, py + dy), held)
    const space = any(draw, 3), { x, y, yaw } = space
    space.drag(dx, 20 * dy)
    near([space.x, space.y], [x, y])
    assert.equal(Math.sign(space.yaw - yaw), Math.sign(dx))
    assert.ok(Math.abs(space.pitch) <= 1.5)
  }
})

test("two fingers hold what was between them", () => {
  const draw = random(6)
  for (let k = 0; k < ROUNDS; k++) {
    const camera = any(draw, 2, { range: [0, Infinity] }), [a, b, c] = [0, 1, 2].map(() => [800 * draw(), 500 * draw()])
    const middle = (p, q) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2], apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1])
    const [from, to] = [middle(a, c), middle(b, c)], held = camera.toWorld(...from), scale = camera.scale
    camera.pinch({ at: to, by: [to[0] - from[0], to[1] - from[1]], factor: apart(b, c) / apart(a, c) })
    near(camera.toWorld(...to), held)
    near([camera.scale], [scale * apart(b, c) / apart(a, c)])
  }
})

test("nothing beyond the bounds is in view", () => {
  const draw = random(7)
  for (let k = 0; k < ROUNDS; k++) {
    const camera = any(draw, 2, { up: false, range: [1, 30] }), count = 1 + Math.floor(300 * draw())
    camera.bounds = [[0, count], [0, count]]
    camera.fitted = fitting([camera.width, camera.height], [count, count])
    camera.zoom(Math.exp(4 * draw() - 1), 900 * draw(), 600 * draw()).pan(4000 * draw() - 2000, 4000 * draw() - 2000)
    for (const c of [0, 1]) {
      const [low, high] = camera.span(c)
      assert.ok(low >= -1e-9)
      assert.ok(high <= count + 1e-9 || Math.abs(low) < 1e-9) // less than the room it has: at its start
    }
    const cell = [0, 1].map(() => Math.floor(count * draw()))
    camera.zoom(30).reveal(cell, cell.map(value => value + 1))
    for (const c of [0, 1]) {
      const [low, high] = camera.span(c)
      if (high - low >= 1) assert.ok(low <= cell[c] + 1e-9 && high >= cell[c] + 1 - 1e-9)
    }
  }
})

test("a cell already in view moves nothing", () => {
  const camera = new Camera({ up: false, bounds: [[0, 100], [0, 100]] }).frame(0, 0, 300, 300)
  camera.fitted = 3
  camera.centre([40, 60], 30)
  const { key } = camera
  assert.equal(camera.reveal([41, 59], [42, 60]).key, key)
  assert.notEqual(camera.reveal([80, 59], [81, 60]).key, key)
})

test("everything fits, and touches the margin on a side", () => {
  const draw = random(8)
  for (const dims of [1, 2]) {
    for (let k = 0; k < ROUNDS; k++) {
      const places = Array.from({ length: 20 * dims }, () => Math.exp(6 * draw() - 3) * (draw() - 0.5)), margin = [40 * draw(), 30 * draw()]
      const side = c => places.filter((_, i) => i % dims === c)
      const [low, high] = [Math.min, Math.max].map(most => Array.from({ length: dims }, (_, c) => most(...side(c))))
      const camera = any(draw, dims).fit(low, high, margin)
      const room = [Infinity, Infinity]
      for (let i = 0; i < 20; i++) {
        const [x, y] = camera.toScreen(places, i * dims)
        room[0] = Math.min(room[0], x - camera.left, camera.left + camera.width - x)
        room[1] = Math.min(room[1], y - camera.top, camera.top + camera.height - y)
      }
      const spare = room.slice(0, dims).map((value, c) => value - margin[c])
      assert.ok(spare.every(value => value > -1e-6))
      assert.ok(Math.min(...spare) < 1e-6)
      assert.ok(!camera.own && !camera.zoomed)
    }
  }
})

test("no turn takes a point out of the picture", () => {
  // A long, crooked cloud and a star far off: all in the frame from many sides, the farthest near its edge at some turn.
  const draw = random(9), places = Float64Array.from({ length: 120 }, (_, i) => (draw() + draw() + draw() - 1.5) * [2, 10, 0.4][i % 3])
  places.set([9, 21, 4])
  const star = [-8, -14, 6], scene = { dims: 3, places, n: 40, first: 0, last: 0, star: { places: { 0: star } } }
  const [{ low, high, scale }] = fits(scene, 500, 320)
  const camera = Object.assign(new Camera({ dims: 3 }).frame(0, 0, 500, 320), { scale, fitted: scale, pivot: low.map((value, c) => (value + high[c]) / 2) })
  let least = Infinity
  for (let yaw = 0; yaw < 6.3; yaw += 0.1) {
    for (let pitch = -1.5; pitch <= 1.5; pitch += 0.1) {
      camera.look(yaw, pitch)
      for (const at of [star, ...Array.from({ length: 40 }, (_, i) => places.slice(3 * i, 3 * i + 3))]) {
        const [x, y] = camera.toScreen(at)
        least = Math.min(least, x, y, 500 - x, 320 - y)
      }
    }
  }
  assert.ok(least >= 26 - 1e-9 && least < 30, String(least)) // 26 pixels are kept free around all points
})

test("the plane's fit of each layer at hand shows its points and its star", () => {
  const places = [0, 0, 4, 2, /* next layer */ -10, 1, 30, 5], scene = { dims: 2, places, n: 2, first: 1, last: 2, star: { places: { 1: [8, -2] } } }
  const found = fits(scene, 452, 352)
  assert.deepEqual(found.map(({ low, high }) => [low, high]), [[[0, -2], [8, 2]], [[-10, 1], [30, 5]]])
  near(found.map(({ scale }) => scale), [Math.min(400 / 8, 300 / 4), Math.min(400 / 40, 300 / 4)])
})

test("a picture is as tall as its tallest layer needs at this width, and at most three quarters of it", () => {
  const scene = places => ({ dims: 2, places, n: 2, first: 1, last: 2 })
  near([tall(scene([0, 0, 4, 1, /* next layer */ 0, 0, 4, 2]), 452)], [400 / 2 + 52])
  near([tall(scene([0, 0, 1, 9, 0, 0, 4, 2]), 452), tall({ dims: 3 }, 452)], [452 * 0.74, 452 * 0.74])
})
