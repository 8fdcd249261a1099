// Typing: one question at a time, and only the newest; what happens when the server is busy, fails, or answers too late.
import assert from "node:assert/strict"
import { test } from "node:test"
import { Asker, changed } from "../../sentviz/browser/canvas/typing.js"

/** An asker whose questions are answered by hand, in any order. */
function byHand() {
  const open = [], taken = []
  const asker = new Asker(question => new Promise((answer, fail) => open.push({ question, answer, fail })), (question, answer) => taken.push([question, answer]), () => Promise.resolve())
  const settled = () => new Promise(done => setTimeout(done))
  return { asker, open, taken, settled }
}

test("only the newest of the questions typed meanwhile is asked, and each answer is taken", async () => {
  const { asker, open, taken, settled } = byHand()
  for (const text of ["a", "ab", "abc", "abcd"]) asker.want(text)
  assert.deepEqual(open.map(each => each.question), ["a"])
  open[0].answer(1)
  await settled()
  assert.deepEqual(open.map(each => each.question), ["a", "abcd"])
  open[1].answer(2)
  await settled()
  assert.deepEqual(taken, [["a", 1], ["abcd", 2]])
  assert.equal(open.length, 2)
})

test("ten thousand keys during one answer ask one more question", async () => {
  const { asker, open, settled } = byHand()
  for (let k = 0; k < 10_000; k++) asker.want(k)
  open[0].answer(0)
  await settled()
  assert.deepEqual(open.map(each => each.question), [0, 9999])
})

test("a busy server is asked again, for what is newest then", async () => {
  const { asker, open, taken, settled } = byHand()
  asker.want("a")
  open[0].answer(null)
  asker.want("ab")
  await settled()
  assert.deepEqual(open.map(each => each.question), ["a", "ab"])
  open[1].answer(1)
  await settled()
  assert.deepEqual(taken, [["ab", 1]])
})

test("after two failures in a row it gives up, says so once, and asks nothing more", async () => {
  const { asker, open, taken, settled } = byHand()
  asker.want("a")
  open[0].fail(new Error("cut"))
  await settled()
  open[1].answer(1)
  await settled()
  asker.want("b")
  for (const at of [2, 3]) {
    open[at].fail(new Error("cut"))
    await settled()
  }
  asker.want("c")
  await settled()
  assert.equal(open.length, 4)
  assert.ok(asker.over)
  assert.deepEqual(taken, [["a", 1], ["b", null]])
})

test("what is forgotten is not asked", async () => {
  const { asker, open, settled } = byHand()
  asker.want("a")
  asker.want("ab")
  asker.forget()
  open[0].answer(1)
  await settled()
  assert.equal(open.length, 1)
})

test("a link's edits take another value, and silenced heads come and go", () => {
  assert.deepEqual(changed({ run: "a" }, "lambda:1.2", 0.5), { run: "a", change: "lambda:1.2=0.5" })
  assert.deepEqual(changed({ change: "lambda:1.2=0.5~lambda:2.2=-1" }, "lambda:1.2", 0), { change: "lambda:2.2=-1~lambda:1.2=0" })
  assert.deepEqual(changed({ change: "head:1.1=0" }, "head:1.4"), { change: "head:1.1=0~head:1.4=0" })
  assert.deepEqual(changed({ change: "head:1.1=0~head:1.4=0" }, "head:1.1"), { change: "head:1.4=0" })
})
