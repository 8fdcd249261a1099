// The epochs of a training run as the browser reads them: what stands at a time, which rows are listed, how the clock goes.
import assert from "node:assert/strict"
import { test } from "node:test"
import { table, told } from "../../sentviz/browser/film/panels.js"
import { advanced, chosen, epochAt, held, line, placesAt, read, right, tally, timeOf, turned } from "../../sentviz/browser/film/scene.js"
import { near, random } from "./helpers.js"

const packed = array => Buffer.from(array.buffer).toString("base64")

/** Four rows over epochs 1, 2 and 4: right throughout, learned, forgotten and learned again, never right. */
const made = (more = {}) =>
  read({
    epochs: [1, 2, 4],
    n: 4,
    m: 2,
    labels: packed(Uint8Array.of(0, 1, 1, 0)),
    said: packed(Uint8Array.of(0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1)),
    places: packed(Float32Array.of(0, 0, 1, 1, 2, 0, 1, 3, 2, 8, 1, 3)),
    rows: ["right throughout", "learned", "learned again", "never right"].map((kind, i) => ({ id: `r${i}`, kind, times: i === 2 ? 1 : 0 })),
    kinds: ["learned again", "forgotten", "learned", "right throughout", "never right"],
    sentence: null,
    ...more,
  })

test("rows are right where answer and label agree, and are counted", () => {
  const film = made()
  assert.deepEqual([0, 1, 2].map(stop => [0, 1, 2, 3].map(i => right(film, stop, i))), [[true, false, true, false], [true, true, false, false], [true, true, true, false]])
  assert.deepEqual([0, 1, 2].map(stop => tally(film, stop)), [2, 2, 3])
  assert.deepEqual([0, 1, 2].map(stop => turned(film, stop)), [[0, 0], [1, 1], [1, 0]])
})

test("rows turned and counted agree with a walk over random ones", () => {
  const draw = random(3), n = 50, epochs = [1, 2, 3, 4, 5]
  const labels = Uint8Array.from({ length: n }, () => 3 * draw()), said = Uint8Array.from({ length: 5 * n }, () => 3 * draw())
  const film = made({ epochs, n, labels: packed(labels), said: packed(said) })
  for (let stop = 1; stop < 5; stop++) {
    let [learned, lost] = [0, 0]
    for (let i = 0; i < n; i++) {
      const [a, b] = [said[(stop - 1) * n + i] === labels[i], said[stop * n + i] === labels[i]]
      if (b && !a) learned++
      if (a && !b) lost++
    }
    assert.deepEqual(turned(film, stop), [learned, lost])
    assert.equal(tally(film, stop) - tally(film, stop - 1), learned - lost)
  }
})

test("rows of a kind, those forgotten most often first", () => {
  const film = made()
  assert.deepEqual(chosen(film, "changed"), [2, 1])
  assert.deepEqual(film.kinds.map(kind => chosen(film, kind)), [[2], [], [1], [0], [3]])
})

test("a time stands between two epochs, and back", () => {
  const film = made()
  near([0, 0.5, 1, 1.25, 2].map(time => epochAt(film, time)), [1, 1.5, 2, 2.5, 4])
  for (let time = 0; time <= 2; time += 0.125) near([timeOf(film, epochAt(film, time))], [time])
  near([timeOf(film, -3), timeOf(film, 9)], [0, 2])
})

test("points are on the straight way, at rest at both ends", () => {
  const film = made(), at = time => [...placesAt(film, time, new Float32Array(4))]
  near(at(0), [0, 0, 1, 1])
  near(at(0.5), [1, 0, 1, 2])
  near(at(1), [2, 0, 1, 3])
  near(at(2), [2, 8, 1, 3])
  assert.ok(at(0.1)[0] < 0.1 * 2 && at(0.9)[0] > 0.9 * 2)
})

test("the sentence moves between neighbours only, and stands still where weights are not at hand", () => {
  const film = made()
  assert.deepEqual(held(film, [1, 2, 4], 0), { from: 0, to: 1, part: 0, exact: true })
  assert.deepEqual(held(film, [1, 2, 4], 2), { from: 1, to: 2, part: 1, exact: true })
  assert.equal(held(film, [1, 2, 4], 1.5).part, 0.5)
  assert.deepEqual([0, 0.4, 1, 1.4, 1.6, 2].map(time => held(film, [1, 4], time)).map(({ from, to, part, exact }) => [from, to, part, exact]), [
    [0, 0, 0, true], [0, 0, 0, true], [0, 0, 0, false], [0, 0, 0, false], [1, 1, 0, true], [1, 1, 0, true],
  ])
  assert.deepEqual(held(film, [4], 0), { from: 0, to: 0, part: 0, exact: false })
})

test("a film of one epoch stands still", () => {
  const film = made({ epochs: [3], said: packed(Uint8Array.of(0, 1, 1, 1)), places: packed(Float32Array.of(5, 6, 7, 8)) })
  near([...placesAt(film, 0, new Float32Array(4))], [5, 6, 7, 8])
  assert.equal(epochAt(film, 0), 3)
  assert.deepEqual(held(film, [3], 0), { from: 0, to: 0, part: 0, exact: true })
})

test("a line's value is straight between its points and ends where they end", () => {
  const one = { x: [1, 2, 4], y: [10, 20, 0] }
  near([0, 1, 1.5, 2, 3, 4, 9].map(epoch => line(one, epoch)), [10, 10, 15, 20, 10, 0, 0])
  assert.equal(told(0.12345, [{ y: [0.1, 0.15] }]), "0.1235")
  assert.equal(told(12.3456, [{ y: [1, 90] }]), "12.35")
})

test("the clock goes a stop a beat and stops at the end; without motion it jumps by whole stops", () => {
  assert.equal(advanced(0.5, 300, 4, 1200, false), 0.75)
  assert.equal(advanced(3.9, 300, 4, 1200, false), 4)
  assert.deepEqual([0, 1, 3].map(time => advanced(time, 1250, 4, 1200, true)), [1, 2, 4])
})

test("a table of colours goes from the first stop to the last", () => {
  const found = table(["#000000", "#ff8000"])
  assert.deepEqual([...found.slice(0, 3), ...found.slice(-3)], [0, 0, 0, 255, 128, 0])
})
