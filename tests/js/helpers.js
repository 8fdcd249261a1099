// What the tests of the browser code share: random numbers with a seed, near (equal up to rounding).
import assert from "node:assert/strict"

/** Numbers 0..1 that follow from a seed. */
export function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed / 2 ** 32
  }
}

export function near(found, wanted, room = 1e-9) {
  assert.equal(found.length, wanted.length)
  for (const [i, value] of [...wanted].entries()) assert.ok(Math.abs(found[i] - value) <= room * (1 + Math.abs(value)), `${found} is not ${wanted}`)
}
