// What a canvas needs: sized (device pixels), pixelRatio, Frames (one drawing a frame, more while anything moves), live (a view that draws and is resized).

export const pixelRatio = () => globalThis.devicePixelRatio || 1

/** Give a canvas a size in CSS pixels and one device pixel a dot; true where that is another one. */
export function sized(canvas, width, height, ratio = pixelRatio()) {
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width === wide && canvas.height === high) return false
  Object.assign(canvas, { width: wide, height: high })
  canvas.style.height = `${height}px`
  return true
}

/** The clock of a view. `tick` gets the milliseconds since the frame before, and says whether anything still moves. */
export class Frames {
  /** @param {(passed: number) => unknown} tick */
  constructor(tick, soon = f => requestAnimationFrame(f), never = id => cancelAnimationFrame(id)) {
    Object.assign(this, { tick, soon, never, id: 0, last: 0 })
  }

  /** A frame soon. */
  ask() {
    this.id ||= this.soon(now => {
      this.id = 0
      const more = this.tick(this.last ? Math.min(now - this.last, 100) : 16)
      this.last = more ? now : 0
      if (more) this.ask()
    })
  }

  stop() {
    this.never(this.id)
    this.id = 0
  }
}

/** Give a view its clock and let it hear of a node's size, until its end.
 * @param {(passed: number) => unknown} tick @param {() => void} resize @param {() => void} [end] */
export function live(view, node, tick, resize, end = () => {}) {
  const watch = new ResizeObserver(resize)
  watch.observe(node)
  view.frames = new Frames(tick)
  view.end = () => {
    watch.disconnect()
    view.frames.stop()
    end()
  }
  return view
}
