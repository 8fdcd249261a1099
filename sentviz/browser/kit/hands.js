// Pointers, wheel and keys: Touches (fingers to hover, drag, pinch, tap), steer (moves the camera of a canvas), wheelFactor, pressed.

const FAR = 4 // pixels; a longer move makes a press a drag

const apart = ([x, y], [u, v]) => Math.hypot(x - u, y - v) || 1

/** @typedef {[number, number]} At
 * @typedef {{kind: "hover"|"drag"|"pinch"|"tap"|"drop", at: At, from?: At, by?: At, factor?: number}} Gesture */

/** The fingers (or the mouse) on a surface, and the gestures that they make. */
export class Touches {
  fingers = new Map()
  drag = null

  down(id, at) {
    this.fingers.set(id, at)
    this.drag = this.fingers.size === 1 ? { from: at, last: at, far: false } : null
  }

  /** @returns {Gesture|null} */
  move(id, at) {
    const before = this.fingers.get(id), { drag } = this
    if (!before) return this.fingers.size ? null : { kind: "hover", at }
    this.fingers.set(id, at)
    if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([key]) => key !== id).map(([, place]) => place)
      const by = [(at[0] - before[0]) / 2, (at[1] - before[1]) / 2]
      return { kind: "pinch", at: [(at[0] + other[0]) / 2, (at[1] + other[1]) / 2], by, factor: apart(at, other) / apart(before, other) }
    }
    if (!drag || !(drag.far ||= apart(at, drag.from) > FAR)) return null
    const by = [at[0] - drag.last[0], at[1] - drag.last[1]]
    drag.last = at
    return { kind: "drag", at, from: drag.from, by }
  }

  /** @returns {Gesture|null} */
  up(id, at) {
    const { drag } = this
    this.cancel(id)
    return drag && { kind: drag.far ? "drop" : "tap", at, from: drag.from }
  }

  cancel(id) {
    this.fingers.delete(id)
    this.drag = null
  }
}

/** Return the zoom factor of a wheel event or of a pinch on a touchpad. */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }) {
  return Math.exp(-deltaY * (deltaMode === 1 ? 16 : 1) * (ctrlKey ? 0.01 : 0.002))
}

/** Run the action of a key; return true if there is one, else nothing: a handler that returns false would block the Tab key. @param {Object<string, (event: KeyboardEvent) => void>} acts */
export function pressed(event, acts) {
  const act = !event.ctrlKey && !event.metaKey && !event.altKey && acts[event.key]
  if (!act) return undefined
  event.preventDefault()
  act(event)
  return true
}

/** Let pointers and keys move the view of a canvas; places are its pixels. A drag, a pinch, the wheel, plus and minus move the camera; 0 and a double click
 * show everything. The wheel zooms after a click on the canvas or with Ctrl, otherwise the page scrolls.
 * @param {{camera: () => Camera, moved: () => void, whole: () => void, hover: (at: At|null) => void, tap: (at: At) => void,
 *   keys: Object<string, (event: KeyboardEvent) => void>, press?: (at: At) => void, drag?: (gesture: Gesture) => void, drop?: (gesture: Gesture) => void,
 *   release?: () => void, twice?: (at: At) => void, cursor?: () => At|null, wheels?: (event: WheelEvent) => boolean}} acts `drag` replaces the
 *   camera's drag; `cursor`: the place about which keys zoom; `wheels`: whether a wheel event is for the canvas
 * @returns {(factor: number, at?: At|null) => void} function that zooms */
export function steer(canvas, acts) {
  const touches = new Touches()
  const go = change => {
    change(acts.camera())
    acts.moved()
  }
  const zoom = (factor, at) => go(camera => camera.zoom(factor, ...(at || [])))
  const place = event => {
    const edge = canvas.getBoundingClientRect()
    return [event.clientX - edge.left, event.clientY - edge.top]
  }
  const does = {
    hover: ({ at }) => acts.hover(at),
    drag: acts.drag || (({ by }) => go(camera => camera.drag(...by))),
    pinch: gesture => go(camera => camera.pinch(gesture)),
    tap: ({ at }) => acts.tap(at),
    drop: gesture => acts.drop?.(gesture),
  }
  const release = () => {
    canvas.classList.remove("moving")
    acts.release?.()
  }
  canvas.onpointerdown = event => {
    if (event.button) return
    canvas.focus({ preventScroll: true })
    canvas.setPointerCapture(event.pointerId)
    touches.down(event.pointerId, place(event))
    acts.press?.(place(event))
  }
  canvas.onpointermove = event => {
    const did = touches.move(event.pointerId, place(event))
    if (did?.kind === "drag") canvas.classList.add("moving")
    if (did) does[did.kind](did)
  }
  canvas.onpointerup = event => {
    const did = touches.up(event.pointerId, place(event))
    if (did) does[did.kind](did)
    release()
  }
  canvas.onpointercancel = event => {
    touches.cancel(event.pointerId)
    release()
  }
  canvas.onpointerleave = () => touches.fingers.size || acts.hover(null)
  canvas.ondblclick = event => (acts.twice || acts.whole)(place(event))
  const wheels = acts.wheels || (event => event.ctrlKey || canvas.getRootNode().activeElement === canvas)
  canvas.onwheel = event => {
    if (!wheels(event) || (event.deltaY > 0 && !event.ctrlKey && acts.camera().least)) return
    event.preventDefault()
    zoom(wheelFactor(event), place(event))
  }
  const larger = factor => () => zoom(factor, acts.cursor?.())
  const keys = { ...acts.keys, "+": larger(1.4), "=": larger(1.4), "-": larger(1 / 1.4), 0: () => acts.whole() }
  canvas.onkeydown = event => pressed(event, keys)
  return zoom
}
