// The tour: Tour (its step, and whether this browser has shown it).

const SEEN = "sentviz-tour"

/** State of the tour. @param {{getItem: Function, setItem: Function}|null} memory storage of the browser; without it, the tour never starts automatically */
export class Tour {
  at = -1 // index of the step, -1: no tour
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

  /** Take over the steps of a new scene; the present step stays if the new scene has it. */
  fit(steps) {
    const slot = this.step?.slot
    this.steps = steps
    if (slot) this.at = steps.findIndex(step => step.slot === slot)
  }

  /** Start automatically if this browser has not shown the tour. */
  greet() {
    if (this.at < 0 && this.memory && !this.#known()) this.at = this.steps.length ? 0 : -1
  }

  start() {
    this.at = this.steps.length ? 0 : -1
  }

  /** Move by a step; after the last step the tour ends. */
  move(by) {
    this.at = Math.max(this.at + by, 0)
    if (this.at >= this.steps.length) this.end()
  }

  /** End the tour, so that it does not start automatically again. */
  end() {
    this.at = -1
    try {
      this.memory?.setItem(SEEN, "1")
    } catch {} // without storage, the tour starts again at the next visit
  }

  #known() {
    try {
      return this.memory.getItem(SEEN) !== null
    } catch {
      return true
    }
  }
}

/** Return the browser's storage, or null if it is blocked. */
export function remembered() {
  try {
    return globalThis.localStorage || null
  } catch {
    return null
  }
}
