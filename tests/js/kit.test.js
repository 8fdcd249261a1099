// Colours, numbers, geometry and clocks of the kit, against slow versions and by hand.
import assert from "node:assert/strict"
import { test } from "node:test"
import { Frames, sized } from "../../sentviz/browser/kit/canvas.js"
import { css, dark, gradient, ramp, rgb } from "../../sentviz/browser/kit/colour.js"
import { fitText, fixed, isRightToLeft, percent, shorten, some, ticks, weight } from "../../sentviz/browser/kit/format.js"
import { hull, inside, meets, nearest } from "../../sentviz/browser/kit/geometry.js"
import { clamp, ease, mix, moment, numbers } from "../../sentviz/browser/kit/maths.js"
import { near, random } from "./helpers.js"

test("colours at the ends, in the middle and beyond", () => {
  const stops = ["#000000", "#204060", "#ffffff"], at = gradient(stops)
  assert.deepEqual([0, 0.5, 1, -3, 7].map(at), [[0, 0, 0], [32, 64, 96], [255, 255, 255], [0, 0, 0], [255, 255, 255]])
  near(at(0.25), [16, 32, 48])
  near(at(0.75), [143.5, 159.5, 175.5])
  assert.deepEqual(gradient(["#102030"])(0.4), [16, 32, 48])
  assert.deepEqual(ramp(stops, 3), ["rgb(0 0 0)", "rgb(32 64 96)", "rgb(255 255 255)"])
  assert.deepEqual(ramp(stops, 1), ["rgb(0 0 0)"])
  assert.equal(css([0.4, 127.6, 255]), "rgb(0 128 255)")
  assert.deepEqual(rgb("#ff8001"), [255, 128, 1])
})

test("a colour between two stops lies between their channels", () => {
  const draw = random(1), hex = () => `#${Math.floor(draw() * 2 ** 24).toString(16).padStart(6, "0")}`
  for (let k = 0; k < 200; k++) {
    const stops = Array.from({ length: 2 + Math.floor(5 * draw()) }, hex), at = draw(), i = Math.min(Math.floor(at * (stops.length - 1)), stops.length - 2)
    const part = at * (stops.length - 1) - i, [a, b] = [rgb(stops[i]), rgb(stops[i + 1])]
    near(gradient(stops)(at), a.map((value, c) => (1 - part) * value + part * b[c]))
  }
})

test("dark paper is told from light paper", () => {
  assert.deepEqual(["#000000", "#0e1117", "#262730", "#ffffff", "#f0f2f6", "rgba(0, 0, 0, 0.5)"].map(dark), [true, true, true, false, false, false])
})

test("numbers as people read them", () => {
  assert.deepEqual([-1.005, 0, 12.3456].map(value => fixed(value)), ["−1.00", "0.00", "12.35"])
  assert.deepEqual([0, 1, -0.25, 0.0123, 0.00456, -0.000012, 3e-7, -3e-7].map(weight), ["0", "1.000", "−0.250", "0.012", "0.0046", "−0.000012", "3.0e−7", "−3.0e−7"])
  assert.deepEqual([0, 0.123, 0.999].map(part => percent(part)), ["0\u00a0%", "12\u00a0%", "100\u00a0%"])
  assert.deepEqual([some(1, "token"), some(0, "token"), some(2000, "leader")], ["1 token", "0 tokens", "2,000 leaders"])
})

test("ticks are round, in view, and not too near each other", () => {
  const draw = random(2)
  for (let k = 0; k < 300; k++) {
    const scale = Math.exp(16 * draw() - 8), low = (draw() - 0.5) * 1000 / scale, high = low + 600 / scale, found = ticks([low, high], scale)
    assert.ok(found.length >= 2)
    const step = found[1][0] - found[0][0], tens = Math.log10(step)
    assert.ok([1, 2, 5, 10].some(round => Math.abs(tens - Math.floor(tens + 1e-9) - Math.log10(round)) < 1e-6), String(step))
    assert.ok(step * scale >= 70 - 1e-6 && step * scale <= 180)
    for (const [value, text] of found) {
      assert.ok(value >= low - 1e-9 * step && value <= high + 1e-9 * step)
      assert.ok(Math.abs(Number(text.replace("−", "-")) - value) < 1e-6 * step + 1e-12)
    }
    assert.ok(found[0][0] - step < low && found.at(-1)[0] + step > high)
  }
  assert.deepEqual(ticks([-1.2, 1.2], 100), [[-1, "−1"], [0, "0"], [1, "1"]].map(([value, text]) => [value, text]))
})

test("texts are cut where there is no room, by letters and not by halves of them", () => {
  const wide = text => 10 * Array.from(text).length
  assert.equal(fitText("short", 50, wide), "short")
  assert.equal(fitText("longer", 50, wide), "long…")
  assert.equal(fitText("😀😀😀😀", 30, wide), "😀😀…")
  assert.equal(fitText("ab", 1, wide), "a…")
  assert.equal(shorten("a".repeat(24), 24), "a".repeat(24))
  assert.equal(shorten("a".repeat(25), 24), `${"a".repeat(23)}…`)
})

/** Inside where a ray to the right crosses an odd number of edges, each crossing calculated on its own. */
function slowlyInside(x, y, corners) {
  const crossings = corners.filter(([x0, y0], i) => {
    const [x1, y1] = corners[(i + 1) % corners.length]
    if (y0 > y === y1 > y) return false
    const part = (y - y0) / (y1 - y0)
    return x0 + part * (x1 - x0) > x
  })
  return crossings.length % 2 === 1
}

test("a lasso holds the points that the slow version says", () => {
  const draw = random(3)
  for (let k = 0; k < 100; k++) {
    const corners = Array.from({ length: 3 + Math.floor(20 * draw()) }, () => [draw(), draw()])
    for (let i = 0; i < 40; i++) {
      const [x, y] = [1.4 * draw() - 0.2, 1.4 * draw() - 0.2]
      assert.equal(inside(x, y, corners), slowlyInside(x, y, corners))
    }
    const whole = corners.map(corner => corner.map(value => Math.floor(6 * value))) // as high as the corners, but not on an edge
    for (let y = 0; y < 6; y++) assert.equal(inside(-0.5, y, whole), slowlyInside(-0.5, y, whole))
  }
})

test("a circle drawn by hand holds what is nearer than its radius", () => {
  const draw = random(4), corners = Array.from({ length: 720 }, (_, k) => [3 + 2 * Math.cos((k * Math.PI) / 360), -1 + 2 * Math.sin((k * Math.PI) / 360)])
  for (let k = 0; k < 500; k++) {
    const [x, y] = [6 * draw(), 6 * draw() - 4], far = Math.hypot(x - 3, y + 1)
    if (Math.abs(far - 2) > 0.001) assert.equal(inside(x, y, corners), far < 2)
  }
  const box = [[0, 0], [4, 0], [4, 2], [0, 2]]
  assert.deepEqual([[1, 1], [3.9, 0.1], [4.1, 1], [-0.1, 1], [2, 2.1]].map(([x, y]) => inside(x, y, box)), [true, true, false, false, false])
})

test("the hull leaves no point outside and needs all its corners", () => {
  const draw = random(5)
  for (let k = 0; k < 50; k++) {
    const n = 3 + Math.floor(40 * draw()), flat = Float64Array.from({ length: 2 * n }, draw), around = hull(flat, n)
    const turn = (o, a, b) => (flat[2 * a] - flat[2 * o]) * (flat[2 * b + 1] - flat[2 * o + 1]) - (flat[2 * a + 1] - flat[2 * o + 1]) * (flat[2 * b] - flat[2 * o])
    for (const [k, a] of around.entries()) {
      const [b, c] = [around[(k + 1) % around.length], around[(k + 2) % around.length]]
      for (let i = 0; i < n; i++) assert.ok(turn(a, b, i) >= -1e-12)
      if (around.length > 2) assert.ok(turn(a, b, c) > 0)
    }
  }
  assert.deepEqual(hull([5, 5], 1), [0])
})

test("the pointer finds what is nearest by comparing all", () => {
  const draw = random(6)
  for (let k = 0; k < 200; k++) {
    const flat = Array.from({ length: 60 }, () => 100 * draw()), out = new Set([3, 7]), [x, y] = [100 * draw(), 100 * draw()]
    const far = i => (out.has(i) ? Infinity : Math.hypot(flat[2 * i] - x, flat[2 * i + 1] - y) + (i % 2 ? 6 : 0))
    const wanted = [...Array(30).keys()].filter(i => far(i) < 14).sort((a, b) => far(a) - far(b))[0] ?? null
    assert.equal(nearest(flat, 30, x, y, 14, i => (out.has(i) ? Infinity : i % 2 ? 6 : 0)), wanted)
  }
})

test("boxes meet where some pixel lies in both", () => {
  const draw = random(7), box = () => Array.from({ length: 4 }, (_, c) => Math.floor(8 * draw()) + (c > 1 ? 1 : 0))
  const holds = ([x, y, w, h], u, v) => u >= x && u < x + w && v >= y && v < y + h
  for (let k = 0; k < 300; k++) {
    const [a, b] = [box(), box()]
    const both = Array.from({ length: 400 }, (_, i) => [i % 20, Math.floor(i / 20)]).some(([u, v]) => holds(a, u, v) && holds(b, u, v))
    assert.equal(meets(a, b), both)
  }
})

test("a time lies between two layers, slow at both", () => {
  assert.deepEqual([0, 0.5, 1, 2.25, 3].map(time => moment(time, 3)), [[0, 1, 0], [0, 1, 0.5], [1, 2, 0], [2, 3, ease(0.25)], [2, 3, 1]])
  assert.deepEqual(moment(0, 0), [0, 0, 0])
  assert.deepEqual([0, 0.5, 1].map(ease), [0, 0.5, 1])
  assert.ok(ease(0.1) < 0.1 && ease(0.9) > 0.9)
  assert.deepEqual([clamp(5, 0, 3), clamp(-5, 0, 3), clamp(2, 0, 3), mix(2, 4, 0.25)], [3, 0, 2, 2.5])
})

test("packed numbers arrive as they were sent", () => {
  const sent = Float32Array.from([1.5, -2, 3e8])
  assert.deepEqual(numbers(Buffer.from(sent.buffer).toString("base64"), Float32Array), sent)
  assert.deepEqual(numbers("/wE=", Int8Array), Int8Array.from([-1, 1]))
})

test("a clock draws once a frame, and goes on while anything moves", () => {
  const asked = [], passed = [], clock = new Frames(ms => passed.push(ms) < 3, f => asked.push(f), () => asked.splice(0))
  clock.ask()
  clock.ask()
  assert.equal(asked.length, 1)
  for (const now of [1000, 1016, 1516]) asked.shift()(now)
  assert.equal(asked.length, 0) // at rest
  assert.deepEqual(passed, [16, 16, 100]) // a page that slept does not jump
  clock.ask()
  assert.equal(asked.length, 1)
  clock.stop()
  assert.equal(asked.length, 0)
  clock.ask()
  asked.shift()(9000)
  assert.equal(passed.at(-1), 16) // nor one that rested
})

test("a canvas has a dot a device pixel", () => {
  const canvas = { style: {} }
  assert.equal(sized(canvas, 301, 200, 1.5), true)
  assert.deepEqual([canvas.width, canvas.height, canvas.style.height], [452, 300, "200px"])
  assert.equal(sized(canvas, 301, 200, 1.5), false)
  assert.equal(sized(canvas, 301, 200, 2), true)
})

test("the direction of a text is that of most of its letters", () => {
  for (const text of ["المرق بارد", "המרק קר", "הלחם של the bakery טרי מאוד", "ܫܠܡܐ"]) assert.equal(isRightToLeft(text), true, text)
  for (const text of ["a calm lake", "수프가 차갑다", "the word שלום here", "12 : 30", "", "👍🏽"]) assert.equal(isRightToLeft(text), false, text)
})
