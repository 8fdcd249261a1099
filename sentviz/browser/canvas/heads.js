// The heads of the picture: a list of those that matter, which Python chooses (`HeadEffects.leading`), and a tile with a map for each, folded away.

import { html, labelled } from "../kit/dom.js"
import { fixed, percent } from "../kit/format.js"
import { clamp } from "../kit/maths.js"
import { kept, rove } from "./nodes.js"
import { fallen } from "./scene.js"
import { ofHead, silent } from "./words.js"

const HIGH = 320, UNDER = 27 // height of all tiles, and height below the map of each tile, in pixels

const signed = (value, digits) => (value > 0 ? "+" : "") + fixed(value, digits)

/** Return the numbers of a head's row: the change of the log-odds without it, in points of probability if they round to other than 0, and its share
 * of the sum of all absolute changes. */
export function numbersOf(scene, [layer, head]) {
  const fall = scene.heads[layer][head], all = scene.heads.flat().reduce((sum, each) => sum + Math.abs(each), 0)
  const points = Math.round(100 * (fallen(scene, fall) - fallen(scene, 0)))
  return { change: signed(-fall, 2), points: points ? signed(points, 0) : "", share: percent(Math.abs(fall) / (all || 1)) }
}

const flips = (scene, [layer, head]) => scene.flips.some(([l, h]) => l === layer && h === head)

/** Return the heads of the list: those that are switched off, then those that matter. @returns {[number, number][]} */
export function listed(scene) {
  const { layers, heads } = scene.maps, off = scene.off.map(([layer, head]) => [layers.indexOf(layer + 1), heads.indexOf(head + 1)])
  return [...off.filter(at => !at.includes(-1)), ...scene.leading.filter(([layer, head]) => !silent(scene, layer, head))]
}

/** Describe the heads that the list leaves out: "141 others: none alone changes the answer". */
export function ofOthers(scene) {
  const { layers, heads } = scene.maps, all = layers.length * heads.length
  if (!scene.heads) return `All ${all} heads`
  const inList = listed(scene), count = all - inList.length, turn = scene.flips.filter(([l, h]) => !inList.some(([layer, head]) => l === layer && h === head)).length
  if (!count) return `The maps of all ${all} heads`
  return `${count} other${count > 1 ? "s" : ""}: ${turn ? turn : "none"} alone ${turn > 1 ? "change" : "changes"} the answer`
}

/** Draw list and tiles. The list is there if heads are measured or will be, the tiles if there is no list or they are unfolded. */
export function heads(view, act) {
  const { scene, parts, unfolded } = view, { maps } = scene, count = maps.layers.length * maps.heads.length, hasList = Boolean(scene.heads || scene.acts)
  parts["heads-title"].textContent = hasList ? "Heads that matter" : "Heads"
  parts["heads-note"].textContent = hasList ? `change of ${scene.aim.name} if it alone is switched off` : ""
  parts.room.hidden = !hasList
  parts.heads.hidden = hasList && !unfolded
  parts.others.textContent = ofOthers(scene)
  parts.others.setAttribute("aria-expanded", String(unfolded))
  parts.others.onclick = act.unfold
  parts.room.style.setProperty("--rows", scene.rows)
  if (hasList) list(view, act, count)
  tiles(view, act)
  kept(parts.components, maps.parts.join("\n"), () => maps.parts.length < 2 ? [] : maps.parts.map((name, part) => {
    const button = html("button", name, { type: "button" })
    button.dataset.part = part
    return button
  }))
  for (const button of parts.components.children) button.onclick = () => act.part(Number(button.dataset.part))
}

/** Fill the list of the heads that matter; its room is the same before they are measured. */
function list({ scene, parts, pick }, act, count) {
  const rows = listed(scene), { maps } = scene, focused = parts.leading.getRootNode().activeElement?.dataset ?? {}
  const wait = scene.heads ? rows.length ? "" : "No head changes the answer." : scene.typed ? "The effects of words and heads follow when you pause." : scene.stopped ? "The effects of the heads are not measured." : `Measuring ${count} heads …`
  kept(parts.leading, [rows.join("\n"), wait, scene.acts].join("\n\n"), () => [
    ...(rows.length && !wait ? [names()] : []),
    ...rows.map(([layer, head]) => {
      const row = html("div", "", { className: "lead" }), show = html("button", "", { type: "button", className: "show" }), swing = html("span", "", { className: "swing" })
      swing.append(html("i"), html("small"))
      show.append(html("b", `L${maps.layers[layer]} H${maps.heads[head]}`), swing, ...[0, 1, 2].map(() => html("span", "", { className: "number" })))
      row.append(show, ...(scene.acts ? [html("button", "", { type: "button", className: "switch" })] : []))
      for (const node of row.children) Object.assign(node.dataset, { layer, head, does: node.className })
      return row
    }),
    ...(wait ? [html("p", wait, { className: "note" })] : []),
  ])
  const peak = Math.max(...rows.map(([layer, head]) => Math.abs(scene.heads?.[layer][head] ?? 0))) || 1
  for (const [k, node] of [...parts.leading.querySelectorAll(".lead:not(.names)")].entries()) {
    const [layer, head] = rows[k], at = { layer, head, part: 0 }, off = silent(scene, layer, head), [show, flick] = node.children, [, swing, ...cells] = show.children
    const fall = off ? 0 : scene.heads?.[layer][head] ?? 0, said = off || !scene.heads ? ["", "", ""] : Object.values(numbersOf(scene, rows[k]))
    node.classList.toggle("off", off)
    swing.className = fall > 0 ? "swing down" : "swing"
    swing.firstChild.className = fall > 0 ? "high" : "low"
    swing.firstChild.style.width = `${(50 * Math.abs(fall)) / peak}%`
    swing.lastChild.textContent = off ? "switched off" : flips(scene, rows[k]) ? "flips the answer" : ""
    for (const [c, cell] of cells.entries()) cell.textContent = said[c]
    labelled(show, [ofHead(scene, at), off ? "" : swing.lastChild.textContent].filter(Boolean).join(" "))
    show.onpointerenter = show.onfocus = () => act.head(at)
    show.onpointerleave = show.onblur = () => act.head(null)
    show.onclick = () => act.choose({ ...at, part: act.shown() })
    if (!flick) continue
    flick.textContent = off ? "on" : "off"
    labelled(flick, `Switch layer ${maps.layers[layer]}, head ${maps.heads[head]} ${flick.textContent}`)
    flick.title = flick.getAttribute("aria-label")
    flick.onclick = () => act.silence(layer, head)
  }
  const nodes = () => [...parts.leading.querySelectorAll("button")], again = nodes().find(({ dataset: { layer, head, does } }) => layer === focused.layer && head === focused.head && does === focused.does)
  for (const node of nodes()) node.tabIndex = -1
  const first = again ?? nodes().find(({ dataset }) => Number(dataset.layer) === pick.layer && Number(dataset.head) === pick.head) ?? nodes()[0]
  if (first) first.tabIndex = 0
  again?.focus({ preventScroll: true })
  rove(parts.leading, nodes, scene.acts ? 2 : 1, { Escape: act.free })
}

function names() {
  const row = html("div", "", { className: "lead names" }), show = html("span", "", { className: "show" })
  show.append(...["head", "", "log-odds", "points", "share"].map(name => html("small", name)))
  row.ariaHidden = "true"
  row.append(show)
  return row
}

/** Fill the tiles of all heads, a row for each layer. */
function tiles({ scene, parts, pick }, act) {
  const { maps } = scene, count = maps.heads.length
  kept(parts.heads, [maps.layers, maps.heads].join("\n"), () => maps.layers.flatMap((layer, l) => [
    html("button", `L${layer}`, { type: "button", className: "layer", title: `Mean over the heads of layer ${layer}`, tabIndex: -1 }),
    ...maps.heads.map((head, h) => {
      const tile = html("button", "", { type: "button", className: "tile", tabIndex: -1 })
      Object.assign(tile.dataset, { layer: l, head: h })
      const bar = html("span", "", { className: "effect" })
      bar.append(html("i"))
      tile.append(html("canvas"), html("span", `H${head}`, { className: "left" }), bar)
      return tile
    }),
  ]))
  parts.heads.style.setProperty("--heads", count)
  parts.heads.style.setProperty("--wide", `${clamp(HIGH / maps.layers.length - UNDER, 34, 76)}px`)
  const nodes = [...parts.heads.children], peak = Math.max(...(scene.heads || []).flat().map(Math.abs)) || 1
  for (const [k, node] of nodes.entries()) {
    const layer = Math.floor(k / (count + 1)), head = (k % (count + 1)) - 1, at = { layer, head, part: 0 }, fall = head < 0 ? 0 : scene.heads?.[layer][head] ?? 0
    labelled(node, ofHead(scene, at))
    node.classList.toggle("off", head >= 0 && silent(scene, layer, head))
    if (head >= 0) {
      const bar = node.lastChild.firstChild
      bar.style.width = `${(100 * Math.abs(fall)) / peak}%`
      bar.className = fall < 0 ? "low" : "high"
    }
    node.onpointerenter = node.onfocus = () => act.head(at)
    node.onpointerleave = node.onblur = () => act.head(null)
    node.onclick = () => act.choose({ ...at, part: act.shown() })
  }
  const chosen = pick.layer * (count + 1) + pick.head + 1
  if (!nodes.some(node => node.tabIndex === 0)) nodes[chosen].tabIndex = 0
  rove(parts.heads, () => [...parts.heads.children], count + 1, { Escape: act.free })
}
