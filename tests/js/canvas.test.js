// The linked picture: what is decoded, what lights up, what is said, and the tour, against numbers made by hand.
import assert from "node:assert/strict"
import { test } from "node:test"
import { settle } from "../../sentviz/browser/canvas/canvas.js"
import { listed, numbersOf, ofOthers } from "../../sentviz/browser/canvas/heads.js"
import { cellAt, layout, toned } from "../../sentviz/browser/canvas/paint.js"
import { column, fallen, given, largest, leading, map, places, read, row, span, together, without } from "../../sentviz/browser/canvas/scene.js"
import { Tour } from "../../sentviz/browser/canvas/tour.js"
import { filled, mapName, ofCell, ofHead, ofWord, share } from "../../sentviz/browser/canvas/words.js"
import { near, random } from "./helpers.js"

const coded = (codes, scale, signed = false) => ({ codes: Buffer.from((signed ? Int8Array : Uint8Array).from(codes).buffer).toString("base64"), scale, signed })

/** Four tokens, of which the first is in no map and the last two are one word; a layer, two heads, effective and two components. */
function sentence(more = {}) {
  const draw = random(3), codes = (low, high) => Array.from({ length: 18 }, () => Math.round(low + (high - low) * draw()))
  return {
    tokens: ["[CLS]", "not", "b", "ad"], units: [[1], [2, 3]], specials: [0], unknown: [], more: 0, padding: 0,
    falls: [2, -0.5], odds: 1, best: 1, aim: { name: "positive", says: "the prediction", place: 1 }, labels: ["negative", "positive"], probabilities: [0.2689, 0.7311],
    heads: [[0.5, -3]], leading: [[0, 1], [0, 0]], flips: [], rows: 2, off: [], pick: { layer: 0, head: 1, part: 0 },
    maps: {
      layers: [1], heads: [1, 2], parts: ["effective", "A₁", "A₂"], shown: [1, 2, 3], names: ["not", "b", "ad"], hidden: 0.1, lambdas: [[1, -0.25]],
      codes: [coded(codes(-100, 100), 1e-4, true), coded(codes(0, 255), 1e-5), coded(codes(0, 255), 2e-5)],
    },
    ...more,
  }
}

/** A weight, straight from the bytes. */
function weightOf(data, part, head, r, c) {
  const { codes, scale, signed } = data.maps.codes[part], byte = Buffer.from(codes, "base64")[head * 9 + r * 3 + c], code = signed && byte > 127 ? byte - 256 : byte
  return scale * code * Math.abs(code)
}

test("a map is its bytes, and the mean over heads that of both", () => {
  const data = sentence(), scene = read(data)
  for (let part = 0; part < 3; part++) {
    for (let k = 0; k < 9; k++) {
      const [one, two] = [0, 1].map(head => weightOf(data, part, head, Math.floor(k / 3), k % 3))
      near([map(scene, { layer: 0, head: 0, part })[k], map(scene, { layer: 0, head: 1, part })[k], map(scene, { layer: 0, head: -1, part })[k]], [one, two, (one + two) / 2], 1e-6)
    }
  }
  assert.deepEqual(span([0.25, -0.5]), { peak: 0.5, signed: true })
  assert.deepEqual(span([0, 0]), { peak: 1, signed: false })
})

test("a word lights its row, its column and its heads; pieces of a word go together", () => {
  const data = sentence(), scene = read(data), pick = { layer: 0, head: 1, part: 0 }
  assert.deepEqual([0, 1, 2, 3].map(i => together(scene, i)), [[0], [1], [2, 3], [2, 3]])
  assert.deepEqual(places(scene, [0, 1, 3]), [0, 2])
  assert.equal(row(scene, pick, [0]), null)
  assert.equal(given(scene, [0]), null)
  near(row(scene, pick, [2, 3]), [0, 1, 2].map(c => (weightOf(data, 0, 1, 1, c) + weightOf(data, 0, 1, 2, c)) / 2), 1e-6)
  near(column(scene, pick, [2, 3]), [0, 1, 2].map(r => weightOf(data, 0, 1, r, 1) + weightOf(data, 0, 1, r, 2)), 1e-6)
  const shares = given(scene, [2, 3])[0], cells = [...Array(9).keys()]
  for (const head of [0, 1]) {
    const size = k => Math.abs(weightOf(data, 0, head, Math.floor(k / 3), k % 3))
    const all = cells.reduce((sum, k) => sum + size(k), 0), own = cells.filter(k => k % 3).reduce((sum, k) => sum + size(k), 0)
    near([shares[head]], [((own / all) * 3) / 2], 1e-6)
  }
  assert.deepEqual(largest([0.1, -3, 2], 2), [1, 2])
})

test("the answer without a word or a head is what its log-odds fall to", () => {
  const scene = read(sentence())
  near([without(scene, 1), without(scene, 3), fallen(scene, 0)], [1 / (1 + Math.exp(1)), 1 / (1 + Math.exp(-1.5)), 1 / (1 + Math.exp(-1))])
  assert.equal(without(scene, 0), null)
  assert.equal(without(read(sentence({ falls: null })), 1), null)
  assert.equal(leading(scene), 1)
  assert.equal(leading(read(sentence({ falls: [-1, 2] }))), 2)
  assert.equal(leading(read(sentence({ falls: null }))), 0)
})

test("what is said of a word, a head and a cell", () => {
  const data = sentence(), scene = read(data), pick = { layer: 0, head: 1, part: 0 }
  assert.match(ofWord(scene, pick, 3), /^“b ad” attends most to “.*; it gets most attention from .*Without it: positive 82\u00a0%\.$/)
  assert.equal(ofWord(scene, pick, 0), "“[CLS]” is not in the maps, which show only the tokens with most attention.")
  assert.equal(ofWord(read(sentence({ maps: null })), null, 1), "“not” Without it: positive 27\u00a0%.")
  assert.equal(ofHead(scene, { ...pick, head: 0 }), "Layer 1, head 1 supports the prediction: positive 73\u00a0% with it, 62\u00a0% without it.")
  assert.equal(ofHead(scene, pick), "Layer 1, head 2 opposes the prediction: positive 73\u00a0% with it, 98\u00a0% without it.")
  const other = read(sentence({ aim: { name: "positive against neutral", says: "“positive” against “neutral”", place: -1 } }))
  assert.equal(ofHead(other, pick), "Layer 1, head 2 opposes “positive” against “neutral”: positive against neutral 73\u00a0% with it, 98\u00a0% without it.")
  assert.match(ofWord(other, pick, 3), /Without it: positive against neutral 82\u00a0%\.$/)
  assert.equal(ofHead(read(sentence({ off: [[0, 1]] })), pick), "Layer 1, head 2 is silenced: it adds nothing.")
  assert.equal(ofHead(read(sentence({ heads: null })), pick), "Layer 1, head 2.")
  assert.equal(mapName(scene, pick), "Effective attention, layer 1, head 2")
  assert.equal(mapName(scene, { layer: 0, head: -1, part: 2 }), "A₂, layer 1, mean of heads")
  assert.match(ofCell(scene, pick, [0, 1]), /^“not” attends to “b” with weight .* ≈ \S+ \(A₁\) − 0\.25 · \S+ \(A₂\)\.$/)
  assert.match(ofCell(scene, { ...pick, part: 1 }, [0, 1]), /^“not” attends to “b” with weight \S+\.$/)
  assert.deepEqual([0.9996, 0.5, 0.001].map(share), [">99\u00a0%", "50\u00a0%", "<1\u00a0%"])
})

test("a step of the tour speaks of this sentence; what it does not know stays away", () => {
  const scene = read(sentence()), say = (text, of = scene) => filled(of, of.maps && of.pick, { text })
  assert.equal(say("{word}: {label} {share}, without {without}; {lambda}"), "not: positive 73\u00a0%, without positive 27\u00a0%; −0.25")
  assert.match(say("{other} {weight}"), /^(not|b|ad) −?\d/)
  assert.equal(say("{without}", read(sentence({ falls: null, maps: null }))), "not measured")
  assert.equal(say("{nothing}"), "{nothing}")
})

test("a point of the large map is a cell, a label its row or its column", () => {
  const at = { left: 50, top: 40, wide: 10, high: 10 }, scene = { side: 3 }, found = point => cellAt({ at, scene }, point)
  assert.deepEqual(found([71, 45]), { cell: [0, 2], place: 0 })
  assert.deepEqual(found([20, 65]), { cell: null, place: 2 })
  assert.deepEqual(found([65, 10]), { cell: null, place: 1 })
  assert.deepEqual(cellAt({ at: { ...at, wide: 40, high: 5 }, scene }, [165, 51]), { cell: [2, 2], place: 2 })
  assert.deepEqual([found([20, 10]), found([81, 45]), cellAt({ scene }, [0, 0])].map(one => one.place), [null, null, null])
  assert.deepEqual([-1, 0, 1, 2].map(value => toned(value, { peak: 1, signed: true })), [0, 128, 255, 255])
  assert.deepEqual([0, 0.5, 2].map(value => toned(value, { peak: 1, signed: false })), [0, 128, 255])
})

test("words stand at both sides of a map of any length", () => {
  const flat = layout(9, 40, 700, 220), slanted = layout(22, 60, 700, 420), upright = layout(60, 70, 1100, 420), phone = layout(60, 70, 350, 420)
  assert.deepEqual([flat, slanted, upright, phone].map(({ angle }) => Math.round((Math.abs(angle) * 180) / Math.PI)), [0, 45, 90, 90])
  assert.ok(flat.wide >= 48 && slanted.wide >= 19 && [upright, phone].every(({ wide, high }) => wide >= 13 && high >= 14))
  assert.ok([flat, slanted, upright].every((at, k) => at.width <= [700, 700, 1100][k] + 1e-9) && phone.width > 350)
  assert.ok(flat.height <= 222 && slanted.height <= 422 && upright.height > 420)
})

test("a row of the list holds the change without its head, its points and its share", () => {
  const scene = read(sentence())
  assert.deepEqual(numbersOf(scene, [0, 0]), { change: "−0.50", points: "−11", share: "14\u00a0%" })
  assert.deepEqual(numbersOf(scene, [0, 1]), { change: "+3.00", points: "+25", share: "86\u00a0%" })
  assert.equal(numbersOf(read(sentence({ heads: [[0.01, -3]] })), [0, 0]).points, "", "0 points are not written")
  assert.equal(numbersOf(read(sentence({ heads: [[0, 0]] })), [0, 0]).share, "0\u00a0%")
})

test("the list has the heads that Python chose, those that are switched off first; the others are counted", () => {
  const more = { heads: [[0.5, -3]], leading: [[0, 1]], flips: [[0, 0]] }
  assert.deepEqual(listed(read(sentence(more))), [[0, 1]])
  assert.equal(ofOthers(read(sentence(more))), "1 other: 1 alone changes the answer")
  assert.equal(ofOthers(read(sentence({ ...more, flips: [] }))), "1 other: none alone changes the answer")
  const off = read(sentence({ ...more, off: [[0, 0]] }))
  assert.deepEqual(listed(off), [[0, 0], [0, 1]])
  assert.equal(ofOthers(off), "The maps of all 2 heads")
  assert.deepEqual(listed(read(sentence({ ...more, off: [[0, 1]] }))), [[0, 1]], "a head is listed once")
  assert.deepEqual(listed(read(sentence({ ...more, off: [[7, 0]] }))), [[0, 1]], "the maps lack its layer")
  const twelve = { layers: [1], heads: [...Array(12).keys()].map(head => head + 1) }, flips = [1, 2, 3].map(head => [0, head])
  const scene = { heads: [Array(12).fill(1)], maps: twelve, leading: [[0, 1]], flips, off: [] }
  assert.equal(ofOthers(scene), "11 others: 2 alone change the answer")
  assert.equal(ofOthers({ ...scene, heads: null, leading: [], flips: [] }), "All 12 heads")
})

test("the tour starts on request only, and keeps its place in a new scene", () => {
  const steps = ["ask", "reply", "answer"].map(slot => ({ slot })), tour = new Tour()
  tour.fit(steps)
  assert.equal(tour.step, null)
  tour.start()
  assert.equal(tour.step.slot, "ask")
  tour.move(1)
  tour.fit(steps.slice(1))
  assert.deepEqual([tour.at, tour.step.slot], [0, "reply"])
  tour.move(1)
  assert.ok(tour.last)
  tour.move(1)
  assert.equal(tour.step, null)
  tour.fit(steps)
  assert.equal(tour.step, null)
})

test("a link says what is pinned; an answer that is older than the last click changes nothing", () => {
  const view = { pinned: null, told: null }, told = { pinned: 5, until: 2000 }
  settle(view, 3, 0)
  assert.deepEqual(view, { pinned: 3, told: null })
  Object.assign(view, { pinned: 5, told }) // two clicks, of which Python answers the first one first
  settle(view, 4, 100)
  assert.deepEqual(view, { pinned: 5, told })
  settle(view, 5, 200)
  assert.deepEqual(view, { pinned: 5, told: null })
  settle(view, null, 300) // one step back
  assert.deepEqual(view, { pinned: null, told: null })
  Object.assign(view, { pinned: 5, told }) // an answer that never comes is not waited for
  settle(view, 1, 2001)
  assert.deepEqual(view, { pinned: 1, told: null })
})
