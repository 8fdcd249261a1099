// What fingers, wheel and keys mean, on a canvas that is none.
import assert from "node:assert/strict"
import { test } from "node:test"
import { Camera } from "../../sentviz/browser/kit/camera.js"
import { Touches, pressed, steer, wheelFactor } from "../../sentviz/browser/kit/hands.js"
import { near } from "./helpers.js"

test("a press is a tap until it moves more than four pixels, then a drag that adds up", () => {
  const touches = new Touches()
  assert.deepEqual(touches.move(1, [5, 5]), { kind: "hover", at: [5, 5] })
  touches.down(1, [10, 10])
  assert.equal(touches.move(1, [12, 13]), null)
  assert.deepEqual(touches.up(1, [12, 13]), { kind: "tap", at: [12, 13], from: [10, 10] })
  touches.down(1, [10, 10])
  touches.move(1, [13, 10])
  const moves = [[20, 12], [40, 9], [11, 11]].map(at => touches.move(1, at))
  assert.ok(moves.every(({ kind }) => kind === "drag"))
  assert.deepEqual(moves.reduce(([x, y], { by }) => [x + by[0], y + by[1]], [0, 0]), [1, 1])
  assert.deepEqual(touches.up(1, [11, 11]), { kind: "drop", at: [11, 11], from: [10, 10] })
  assert.equal(touches.up(1, [11, 11]), null)
})

test("two fingers pinch about their middle; lifting one starts no drag", () => {
  const touches = new Touches()
  touches.down(1, [0, 0])
  touches.down(2, [10, 0])
  assert.deepEqual(touches.move(2, [20, 0]), { kind: "pinch", at: [10, 0], by: [5, 0], factor: 2 })
  assert.equal(touches.up(2, [20, 0]), null)
  assert.equal(touches.move(1, [50, 50]), null)
  assert.equal(touches.up(1, [50, 50]), null)
  touches.down(1, [0, 0])
  touches.cancel(1)
  assert.equal(touches.move(1, [1, 1]).kind, "hover")
})

test("the wheel zooms by lines, by pixels, and finely with Ctrl", () => {
  const wheel = more => wheelFactor({ deltaY: 0, deltaMode: 0, ctrlKey: false, ...more })
  assert.equal(wheel({}), 1)
  near([wheel({ deltaY: -100 }), wheel({ deltaY: 100 }) * wheel({ deltaY: -100 })], [Math.exp(0.2), 1])
  near([wheel({ deltaY: 2, deltaMode: 1 })], [wheel({ deltaY: 32 })])
  near([wheel({ deltaY: -10, ctrlKey: true })], [Math.exp(0.1)])
})

test("keys act unless a modifier is held", () => {
  const done = [], event = more => ({ key: "a", preventDefault: () => done.push("held back"), ...more })
  assert.equal(pressed(event({}), { a: () => done.push("a") }), true)
  assert.equal(pressed(event({ ctrlKey: true }), { a: () => done.push("never") }), undefined) // false from a handler would hold Tab
  assert.equal(pressed(event({ key: "b" }), { a: () => done.push("never") }), undefined)
  assert.deepEqual(done, ["held back", "a"])
})

/** A canvas at (100, 50) of the page, with what was done to it. */
function desk(more = {}) {
  const root = { activeElement: null }, done = [], classes = new Set()
  const canvas = {
    getBoundingClientRect: () => ({ left: 100, top: 50 }),
    getRootNode: () => root,
    focus: () => (root.activeElement = canvas),
    setPointerCapture: () => {},
    classList: { add: name => classes.add(name), remove: name => classes.delete(name) },
  }
  const camera = new Camera().frame(0, 0, 400, 300).fit([0, 0], [4, 3])
  const acts = Object.fromEntries(["moved", "hover", "tap", "whole", "drop"].map(name => [name, at => done.push(at === undefined ? name : [name, at])]))
  const zoom = steer(canvas, { camera: () => camera, keys: { x: () => done.push("x") }, ...acts, ...more })
  const at = (x, y, other = {}) => ({ clientX: 100 + x, clientY: 50 + y, pointerId: 1, button: 0, preventDefault: () => done.push("held back"), ...other })
  return { canvas, camera, done, classes, zoom, at }
}

test("a drag moves the camera, a click does not", () => {
  const { canvas, camera, done, classes, at } = desk(), held = camera.toWorld(20, 30)
  canvas.onpointermove(at(1, 2))
  canvas.onpointerdown(at(20, 30))
  canvas.onpointermove(at(60, 10))
  assert.ok(classes.has("moving"))
  near(camera.toWorld(60, 10), held)
  canvas.onpointerup(at(60, 10))
  assert.ok(!classes.has("moving"))
  canvas.onpointerdown(at(7, 8))
  canvas.onpointerup(at(7, 8))
  canvas.onpointerdown(at(7, 8, { button: 2 }))
  canvas.onpointerleave()
  assert.deepEqual(done, [["hover", [1, 2]], "moved", ["drop", { kind: "drop", at: [60, 10], from: [20, 30] }], ["tap", [7, 8]], ["hover", null]])
})

test("the wheel belongs to the page until the canvas is clicked, and again where nothing more can be seen", () => {
  const { canvas, camera, done, at } = desk(), wheel = more => canvas.onwheel(at(40, 60, { deltaY: -300, deltaMode: 0, ...more }))
  wheel({})
  assert.deepEqual(done, [])
  canvas.focus()
  const held = camera.toWorld(40, 60)
  wheel({})
  assert.deepEqual(done, ["held back", "moved"])
  near(camera.toWorld(40, 60), held)
  assert.ok(camera.zoomed)
  wheel({ deltaY: 9000 })
  assert.ok(camera.least)
  wheel({ deltaY: 100 })
  assert.equal(done.length, 4)
})

test("plus and minus zoom about the cursor, zero and two clicks show all", () => {
  const { canvas, camera, done, zoom, at } = desk({ cursor: () => [50, 60] }), press = key => canvas.onkeydown({ key, preventDefault: () => {} })
  const held = camera.toWorld(50, 60), { scale } = camera
  press("+")
  near([...camera.toWorld(50, 60), camera.scale], [...held, 1.4 * scale])
  press("-")
  near([camera.scale], [scale])
  press("x")
  press("0")
  canvas.ondblclick(at(1, 1))
  zoom(2)
  near([camera.scale], [2 * scale])
  assert.deepEqual(done, ["moved", "moved", "x", "whole", ["whole", [1, 1]], "moved"])
})
