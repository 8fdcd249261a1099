// Shared code of canvases: sized (device pixels), pixelRatio, allowed (a height), Frames (one drawing per frame, repeated while anything moves), live (a view that draws and is resized).

import { clamp } from "./maths.js"

export const pixelRatio = () => globalThis.devicePixelRatio || 1

/** Set the size of a canvas in CSS pixels, with one dot per device pixel; return true if it changed. */
export function sized(canvas, width, height, ratio = pixelRatio()) {
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width === wide && canvas.height === high) return false
  Object.assign(canvas, { width: wide, height: high })
  canvas.style.height = `${height}px`
  return true
}

/** Return a height within the limits that the style of a canvas names, in CSS pixels. */
export function allowed(canvas, height) {
  const { minHeight, maxHeight } = getComputedStyle(canvas)
  return clamp(height, parseFloat(minHeight) || 0, parseFloat(maxHeight) || Infinity)
}

/** The clock of a view. `tick` gets the milliseconds since the last frame and returns whether anything still moves. */
export class Frames {
  /** @param {(passed: number) => unknown} tick */
  constructor(tick, soon = f => requestAnimationFrame(f), never = id => cancelAnimationFrame(id)) {
    Object.assign(this, { tick, soon, never, id: 0, last: 0 })
  }

  /** Request a frame. */
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

/** Give a view its clock, and call `resize` when a node's size or the system's colours change, until the view ends.
 * @param {(passed: number) => unknown} tick @param {() => void} resize @param {() => void} [end] */
export function live(view, node, tick, resize, end = () => {}) {
  const watch = new ResizeObserver(resize), night = matchMedia("(prefers-color-scheme: dark)")
  watch.observe(node)
  night.addEventListener("change", resize)
  view.frames = new Frames(tick)
  view.end = () => {
    watch.disconnect()
    night.removeEventListener("change", resize)
    view.frames.stop()
    end()
  }
  return view
}
