// One mounted scene: its clock, its camera, its hands.

const BEAT = 1100 // milliseconds of a layer at speed 1
const ARRIVAL = 450 // milliseconds for another scene of the same tokens to take its place
const MARKS = 16 // layers that have a button each

function mount(root) {
  const part = name => root.querySelector("." + name)
  const names = ["time", "marks", "first", "back", "play", "forward", "last", "speed", "whole", "where", "what", "readout"]
  const view = {
    host: part("particles"),
    canvas: root.querySelector("canvas"),
    parts: Object.fromEntries(names.map(name => [name, part(name)])),
    shows: { names: true, trails: true, hull: true, limit: true },
    part,
    tell: () => {}, // (name, value): what Python hears
    still: matchMedia("(prefers-reduced-motion: reduce)").matches,
    camera: { yaw: YAW, pitch: PITCH },
    time: 0,
    speed: 1,
    playing: false,
    hovered: null,
    chosen: null,
    lit: new Set(),
    widths: new Map(),
    sides: new Map(),
    strength: new Map(),
    version: 0,
    frame: 0,
  }
  const watch = new ResizeObserver(() => resize(view))
  watch.observe(view.host)
  hands(view)
  view.end = () => {
    watch.disconnect()
    cancelAnimationFrame(view.frame)
  }
  return view
}

/** Another scene. The same tokens glide to their new places; a new story starts to play. */
function load(view, data) {
  const old = view.scene
  const scene = (view.scene = read(data))
  const same = old && old.id === scene.id && old.dimension === scene.dimension && old.count === scene.count
  const room = scene.count * scene.dimension
  view.before = same && view.now && !view.still ? view.now.slice() : null
  view.arrived = 0
  view.now = new Float32Array(room)
  view.flat = new Float32Array(2 * scene.count)
  view.near = new Float32Array(scene.count)
  view.version += 1
  if (!same) Object.assign(view, { chosen: null, hovered: null, lit: new Set(), sides: new Map(), strength: new Map(), widths: new Map() })
  if (data.chosen !== undefined && data.chosen < scene.count) view.chosen = data.chosen
  view.part("of-limit").hidden = view.part("limit").parentElement.hidden = !scene.edges.length
  view.part("of-mean").hidden = !scene.means
  view.part("of-decision").hidden = !scene.decision
  view.part("names").parentElement.hidden = !scene.named || scene.count > 700
  view.parts.time.max = scene.layers
  marks(view)
  view.canvas.setAttribute("aria-label", `${scene.title}: ${scene.count} tokens over ${scene.layers} layers. Space plays and pauses, left and right step, up and down walk through the tokens, Enter selects one, plus and minus zoom, 0 shows everything.`)
  if (view.width) fit(scene, view.width, view.height, view.camera)
  const news = !old || old.story !== scene.story
  view.time = news ? 0 : Math.min(view.time, scene.layers)
  light(view)
  if (news && !view.still && scene.layers) play(view, true)
  else if (news) seek(view, view.still ? scene.layers : 0)
  else told(view)
}

function marks(view) {
  const { scene, parts } = view
  const cells = scene.layers + 1
  const tall = scene.layers <= MARKS
  parts.time.style.width = tall ? `calc(${(100 * scene.layers) / cells}% + 16px)` : "100%"
  parts.time.style.margin = tall ? `0 0 0 calc(${50 / cells}% - 8px)` : "0"
  parts.marks.replaceChildren(
    ...(tall ? [...Array(cells).keys()] : []).map(layer => {
      const button = document.createElement("button")
      button.type = "button"
      button.textContent = layer ? String(layer) : "start"
      const p = scene.probabilities?.[layer]
      if (p !== undefined) {
        const small = document.createElement("small")
        small.textContent = `${(100 * p).toFixed(0)}%`
        button.append(small)
        button.title = `After layer ${layer}: ${verdict(scene, p)}; the number is the probability of ${scene.labels[1]}`
      }
      button.onclick = () => pause(view, layer)
      return button
    })
  )
}

/** Colours and letters of the page, light or dark. */
function dress(view) {
  const style = getComputedStyle(view.host)
  const pen = view.canvas.getContext("2d", { alpha: false })
  const solid = (name, other) => {
    pen.fillStyle = other
    pen.fillStyle = style.getPropertyValue(name).trim() || other
    return pen.fillStyle
  }
  const ground = solid("--p-ground", "#ffffff")
  const dark = /^#[0-9a-f]{6}$/.test(ground) && channels(ground).reduce((sum, part, i) => sum + part * [0.299, 0.587, 0.114][i], 0) < 110
  const colours = view.scene.palettes[dark ? "dark" : "light"]
  const family = style.fontFamily || "sans-serif"
  view.font = `13px ${family}`
  view.look = {
    ground,
    dark,
    ink: solid("--p-ink", "#31333f"),
    accent: solid("--p-accent", "#1b62a5"),
    shades: Array.from({ length: SHADES + 1 }, (_, i) => blend(colours.diverging, i / SHADES)),
    specks: Array.from({ length: SHADES + 1 }, (_, i) => blend(colours.diverging.with(2, "#8a90a0"), i / SHADES)), // without an edge: seen on paper
    lines: colours.lines,
    small: `11px ${family}`,
    strong: `600 14px ${family}`,
  }
  view.version += 1
  view.widths.clear()
  resize(view)
}

function resize(view) {
  const width = view.host.clientWidth
  if (!width || !view.scene || !view.look) return
  const height = Math.round(Math.min(Math.max(width * 0.58, 320), 580))
  const ratio = window.devicePixelRatio || 1
  if (view.width !== width || view.height !== height || view.canvas.width !== Math.round(width * ratio)) {
    Object.assign(view, { width, height })
    view.canvas.width = Math.round(width * ratio)
    view.canvas.height = Math.round(height * ratio)
    view.canvas.style.height = `${height}px`
    fit(view.scene, width, height, view.camera)
  }
  draw(view)
}

/** A frame soon; more of them while anything moves. */
function draw(view) {
  if (!view.frame) view.frame = requestAnimationFrame(now => tick(view, now))
}

function tick(view, now) {
  view.frame = 0
  if (!view.width) return
  const passed = Math.min(now - (view.last || now), 100)
  view.last = now
  const { scene } = view
  if (view.before) {
    view.arrived = Math.min(view.arrived + passed / ARRIVAL, 1)
    if (view.arrived === 1) view.before = null
  }
  if (view.playing) {
    if (view.still) {
      view.waited = (view.waited || 0) + passed
      if (view.waited > BEAT / view.speed) {
        view.waited = 0
        view.time = Math.min(Math.floor(view.time) + 1, scene.layers)
      }
    } else view.time = Math.min(view.time + (passed * view.speed) / BEAT, scene.layers)
    if (view.time >= scene.layers) play(view, false)
  }
  paint(view)
  told(view)
  if (view.playing || view.before || view.fading) draw(view)
  else view.last = 0
}

function play(view, on) {
  if (on && view.time >= view.scene.layers) view.time = 0
  view.playing = on && view.scene.layers > 0
  view.waited = 0
  view.host.classList.toggle("playing", view.playing)
  view.parts.play.setAttribute("aria-label", view.playing ? "Pause" : "Play")
  view.parts.readout.setAttribute("aria-live", view.playing ? "off" : "polite")
  draw(view)
}

function seek(view, time) {
  view.time = Math.min(Math.max(time, 0), view.scene.layers)
  draw(view)
}

function pause(view, time) {
  play(view, false)
  seek(view, time)
}

function step(view, by) {
  const from = by > 0 ? Math.floor(view.time + 1e-6) : Math.ceil(view.time - 1e-6)
  pause(view, from + by)
}

/** The slider and the line below say where we are. */
function told(view) {
  const { scene, parts } = view
  const layer = Math.floor(view.time + 1e-6)
  if (Number(parts.time.value) !== view.time) parts.time.value = view.time
  parts.time.setAttribute("aria-valuetext", `layer ${shown(view.time, 1)} of ${scene.layers}`)
  const around = view.hovered ?? view.chosen
  const key = [layer, around, view.version].join()
  if (view.toldKey === key) return
  view.toldKey = key
  for (const [i, button] of [...parts.marks.children].entries()) {
    if (i === layer) button.setAttribute("aria-current", "step")
    else button.removeAttribute("aria-current")
  }
  const some = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`
  parts.where.textContent = layer ? `After layer ${layer} of ${scene.layers}:` : "At the start:"
  const leading = [...scene.since.values()].filter(since => since <= layer).length
  const said = [`${some(scene.count, "token")} at ${some(scene.clusters[layer], "place")}`, `${some(leading, "leader")} so far`]
  if (scene.probabilities) said.push(`mean: ${verdict(scene, scene.probabilities[layer])}`)
  parts.what.textContent = around === null ? `${said.join(", ")}.` : about(view, around, layer)
}

function about({ scene, lit }, i, layer) {
  const size = scene.dimension
  const at = Array.from({ length: size }, (_, c) => shown(scene.positions[(layer * scene.count + i) * size + c]))
  const said = [`“${scene.words[i]}” at (${at.join(", ")})`]
  if (scene.decision && scene.exact) {
    const p = probability(scene, scene.positions[2 * (layer * scene.count + i)], scene.positions[2 * (layer * scene.count + i) + 1])
    said.push(`there the decoder says ${verdict(scene, p)}`)
  }
  if (scene.since.has(i)) {
    const others = [...new Set([...lit].filter(j => j !== i).map(j => scene.words[j]))]
    const named = scene.named && others.length ? `: ${others.slice(0, 14).join(", ")}${others.length > 14 ? " …" : ""}` : ""
    said.push(`a leader since layer ${scene.since.get(i) + 1}; ${lit.size} end where it ends${named}`)
  } else if (scene.toward && layer < scene.layers) {
    const j = scene.toward[layer * scene.count + i]
    if (j === i) said.push("attracted by itself alone")
    else if (j >= 0) said.push(`attracted by “${scene.words[j]}”`)
  }
  return `${said.join("; ")}.`
}

/** Those that end where the token pointed at ends. */
function light(view) {
  const { scene } = view
  const i = view.hovered ?? view.chosen
  view.lit = new Set(i === null ? [] : [...Array(scene.count).keys()].filter(j => scene.groups[j] === scene.groups[i]))
  draw(view)
}

function hover(view, i) {
  if (view.hovered === i) return
  view.hovered = i
  view.canvas.classList.toggle("over", i !== null)
  light(view)
}

function choose(view, i) {
  view.chosen = i
  light(view)
  view.tell("token", i === null ? null : { id: view.scene.id, index: i, layer: Math.floor(view.time + 1e-6) })
}

/** Another token where none is; Python puts it among the others. */
function put(view, x, y) {
  const { camera } = view
  pause(view, 0)
  view.tell("point", [camera.x + (x - camera.left) / camera.scale, camera.y - (y - camera.top) / camera.scale])
}

/** The token at a point of the canvas, leaders first; null where none is near. */
function tokenAt({ scene, flat }, x, y) {
  let best = null, least = 14 ** 2
  for (let i = 0; i < scene.count; i++) {
    const far = (flat[2 * i] - x) ** 2 + (flat[2 * i + 1] - y) ** 2 - (scene.since.has(i) ? 9 : 0)
    if (far < least) [best, least] = [i, far]
  }
  return best
}

function zoom(view, factor, x = view.width / 2, y = view.height / 2) {
  const { camera } = view
  const scale = Math.min(Math.max(camera.scale * factor, camera.fitted), camera.fitted * 400)
  camera.x += (x - camera.left) * (1 / camera.scale - 1 / scale)
  camera.y -= (y - camera.top) * (1 / camera.scale - 1 / scale)
  camera.scale = scale
  draw(view)
}

function whole(view) {
  Object.assign(view.camera, { yaw: YAW, pitch: PITCH })
  fit(view.scene, view.width, view.height, view.camera)
  draw(view)
}

function hands(view) {
  const { canvas, parts } = view
  parts.play.onclick = () => play(view, !view.playing)
  parts.first.onclick = () => pause(view, 0)
  parts.last.onclick = () => pause(view, view.scene.layers)
  parts.back.onclick = () => step(view, -1)
  parts.forward.onclick = () => step(view, 1)
  parts.speed.onchange = () => (view.speed = Number(parts.speed.value))
  parts.time.oninput = () => pause(view, Number(parts.time.value))
  parts.whole.onclick = () => whole(view)
  for (const name of Object.keys(view.shows)) {
    const box = view.part(name)
    box.onchange = () => {
      view.shows[name] = box.checked
      draw(view)
    }
  }
  let drag = null
  const place = event => {
    const edge = canvas.getBoundingClientRect()
    return [event.clientX - edge.left, event.clientY - edge.top]
  }
  canvas.onpointerdown = event => {
    if (event.button) return
    canvas.focus({ preventScroll: true })
    canvas.setPointerCapture(event.pointerId)
    drag = { from: place(event), last: place(event), far: false }
  }
  canvas.onpointermove = event => {
    const [x, y] = place(event)
    if (!drag) return hover(view, tokenAt(view, x, y))
    drag.far ||= Math.hypot(x - drag.from[0], y - drag.from[1]) > 4
    if (!drag.far) return
    canvas.classList.add("moving")
    const { camera } = view
    const [dx, dy] = [x - drag.last[0], y - drag.last[1]]
    drag.last = [x, y]
    if (view.scene.deep) {
      camera.yaw += dx * 0.008
      camera.pitch = Math.min(Math.max(camera.pitch + dy * 0.008, -1.5), 1.5)
    } else {
      camera.x -= dx / camera.scale
      camera.y += dy / camera.scale
    }
    draw(view)
  }
  const release = () => {
    drag = null
    canvas.classList.remove("moving")
  }
  canvas.onpointerup = event => {
    if (drag && !drag.far) {
      const i = tokenAt(view, ...place(event))
      if (i === null && view.scene.adding) put(view, ...place(event))
      else if (i !== null || view.chosen !== null) choose(view, i)
    }
    release()
  }
  canvas.onpointercancel = release
  canvas.onpointerleave = () => !drag && hover(view, null)
  canvas.ondblclick = () => whole(view)
  canvas.onwheel = event => {
    const focused = canvas.getRootNode().activeElement === canvas
    if (!event.ctrlKey && !focused) return // the page scrolls past; a click on the picture makes the wheel zoom
    if (event.deltaY > 0 && view.camera.scale <= view.camera.fitted * 1.001) return
    event.preventDefault()
    zoom(view, Math.exp(-event.deltaY * (event.deltaMode === 1 ? 16 : 1) * (event.ctrlKey ? 0.01 : 0.002)), ...place(event))
  }
  canvas.onkeydown = event => keys(view, event)
}

function keys(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const walk = by => {
    const order = [...view.scene.leaders, ...view.scene.order.filter(i => !view.scene.since.has(i))]
    const at = order.indexOf(view.hovered ?? view.chosen)
    hover(view, order[at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length])
  }
  const acts = {
    " ": () => play(view, !view.playing),
    ArrowRight: () => step(view, 1),
    ArrowLeft: () => step(view, -1),
    Home: () => pause(view, 0),
    End: () => pause(view, view.scene.layers),
    ArrowDown: () => walk(1),
    ArrowUp: () => walk(-1),
    Enter: () => view.hovered !== null && choose(view, view.hovered),
    Escape: () => (hover(view, null), view.chosen !== null && choose(view, null)),
    "+": () => zoom(view, 1.4),
    "=": () => zoom(view, 1.4),
    "-": () => zoom(view, 1 / 1.4),
    0: () => whole(view),
  }
  if (!acts[event.key]) return
  event.preventDefault()
  acts[event.key]()
}
