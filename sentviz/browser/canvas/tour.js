// The tour: Tour (which step, whether it was seen), seen by this browser and nobody else.

const SEEN = "sentviz-tour"

/** Where the tour stands. @param {{getItem: Function, setItem: Function}|null} memory of this browser; without one, the tour never starts by itself */
export class Tour {
  at = -1 // -1: not shown
  steps = []

  constructor(memory) {
    this.memory = memory
  }

  get step() {
    return this.steps[this.at] || null
  }

  get last() {
    return this.at === this.steps.length - 1
  }

  /** The steps of another scene; the same step stays where it is. */
  fit(steps) {
    const slot = this.step?.slot
    this.steps = steps
    if (slot) this.at = steps.findIndex(step => step.slot === slot)
  }

  /** Start by itself for whoever has not seen it. */
  greet() {
    if (this.at < 0 && this.memory && !this.#known()) this.at = this.steps.length ? 0 : -1
  }

  start() {
    this.at = this.steps.length ? 0 : -1
  }

  /** A step on, or back; beyond the last one it is over. */
  move(by) {
    this.at = Math.max(this.at + by, 0)
    if (this.at >= this.steps.length) this.end()
  }

  /** Skipped or seen to its end: it does not start by itself again. */
  end() {
    this.at = -1
    try {
      this.memory?.setItem(SEEN, "1")
    } catch {} // a browser that remembers nothing greets again
  }

  #known() {
    try {
      return this.memory.getItem(SEEN) !== null
    } catch {
      return true
    }
  }
}

/** What this browser remembers, or null where it is forbidden to. */
export function remembered() {
  try {
    return globalThis.localStorage || null
  } catch {
    return null
  }
}
