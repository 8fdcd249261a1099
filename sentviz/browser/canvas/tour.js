// The tour: Tour (its steps, and the step that is shown).

/** State of the tour. It starts only when the visitor asks for it. */
export class Tour {
  at = -1 // index of the step, -1: no tour
  steps = []

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

  start() {
    this.at = this.steps.length ? 0 : -1
  }

  /** Move by a step; after the last step the tour ends. */
  move(by) {
    this.at = Math.max(this.at + by, 0)
    if (this.at >= this.steps.length) this.end()
  }

  end() {
    this.at = -1
  }
}
