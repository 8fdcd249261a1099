// The nodes of the picture: answers (a bar per class) and words, reused while the text is the same; light (highlights them and the heads).

import { css, dark } from "../kit/colour.js"
import { html, labelled } from "../kit/dom.js"
import { isRightToLeft, percent, weight } from "../kit/format.js"
import { pressed } from "../kit/hands.js"
import { clamp } from "../kit/maths.js"
import { toned } from "./paint.js"
import { given, row, together, without } from "./scene.js"
import { share } from "./words.js"

/** Fill a node with children, but only if their content changed, so that the focus stays. */
export function kept(node, key, make) {
  if (node.dataset.key === key) return
  node.dataset.key = key
  node.replaceChildren(...make())
}

/** Make one tab stop of many nodes; arrow keys move among them. @param {() => HTMLElement[]} all @param {number} wide step of up and down */
export function rove(node, all, wide, more) {
  const go = by => event => {
    const nodes = all(), at = nodes.indexOf(event.target), next = nodes[clamp(at + by, 0, nodes.length - 1)]
    for (const one of nodes) one.tabIndex = one === next ? 0 : -1
    next.focus()
  }
  node.onkeydown = event => pressed(event, {
    ArrowLeft: go(-1), ArrowRight: go(1), ArrowUp: go(-wide), ArrowDown: go(wide), Home: go(-1e9), End: go(1e9), ...more,
  })
}

// ---- the prediction

export function answers({ scene, parts }) {
  kept(parts.answer, scene.labels.join("\n"), () => scene.labels.flatMap(name => {
    const track = html("span", "", { className: "track" })
    track.append(...["fill", "part", "before"].map(className => html("i", "", { className })))
    return [html("bdi", name), track, html("span", "", { className: "said" })]
  }))
  const { probabilities, before, best } = scene
  parts.answer.style.setProperty("--best", `var(--class-${best})`)
  for (const [k, p] of probabilities.entries()) {
    const [name, track, said] = [0, 1, 2].map(c => parts.answer.children[3 * k + c]), [fill, , old] = track.children
    name.classList.toggle("best", k === best)
    fill.className = k === best ? "fill best" : "fill"
    Object.assign(fill.style, { width: `${100 * p}%`, background: `var(--class-${k})` })
    old.hidden = !before
    if (before) old.style.width = `${100 * before[k]}%`
    said.textContent = before ? `${percent(p, 1)}, was ${percent(before[k], 1)}` : percent(p, 1)
    said.dataset.said = said.textContent
  }
}


// ---- words

export function words({ scene, parts }, act) {
  const { tokens, scale } = scene
  kept(parts.words, [scene.text, ...tokens].join("\n"), () => {
    const made = tokens.map((token, i) => {
      const node = html("button", "", { type: "button", className: "word", tabIndex: i ? -1 : 0 })
      node.append(html("bdi", token), html("i", "", { className: "takes" }))
      return node
    })
    if (scene.more) made.push(html("span", `and ${scene.more.toLocaleString("en")} more`, { className: "note" }))
    if (scene.padding) made.push(html("span", `and ${scene.padding.toLocaleString("en")} tokens of padding, which are read too`, { className: "note" }))
    const nodes = [...made]
    if (scene.second) made.splice(scene.second, 0, html("span", "", { className: "line" }))
    for (const tokens of scene.breaks ?? []) { // the tokens of a tag are one sign, with a line break after it
      for (const i of tokens) nodes[i].hidden = i !== tokens.at(-1)
      nodes[tokens.at(-1)].firstChild.textContent = "↵"
      made.splice(made.indexOf(nodes[tokens.at(-1)]) + 1, 0, html("span", "", { className: "line" }))
    }
    return made
  })
  parts.words.dir = isRightToLeft(tokens.filter((_, i) => !scene.specials.includes(i)).join(" ")) ? "rtl" : "ltr"
  const nodes = () => [...parts.words.querySelectorAll(".word")]
  for (const [i, node] of nodes().entries()) {
    const score = scene.scores?.[i] ?? null, left = without(scene, i)
    node.classList.toggle("special", scene.specials.includes(i))
    node.classList.toggle("unknown", scene.unknown.includes(i))
    labelled(node, [
      tokens[i],
      scene.unknown.includes(i) ? "not in the vocabulary" : "",
      score === null || !scale ? "" : `${scale.title} ${weight(score)}`,
      left === null ? "" : `without it ${scene.aim.name} ${share(left)}`,
    ].filter(Boolean).join(", "))
    node.onpointerenter = node.onfocus = () => act.word(i)
    node.onpointerleave = node.onblur = () => act.word(null)
    node.onclick = () => act.pin(i)
  }
  rove(parts.words, () => nodes().filter(node => !node.hidden), 1, { Escape: act.free })
  parts["words-key"].replaceChildren(...(scale ? ["low", "high"] : []).map(side => {
    const item = html("span")
    item.append(html("i", "", { className: side }), scale[side])
    return item
  }), ...(scale?.full ? [html("span", `strongest: ${weight(scale.full)} ${scale.unit ?? ""}`.trim())] : []))
}

// ---- highlighting

export function light({ scene, parts, pick: own, pinned, look, tables, cell }, { i, lit, pick }) {
  const taken = lit.length && pick ? row(scene, pick, lit) : null, most = taken ? Math.max(...taken.map(Math.abs)) || 1 : 1
  const fixed = pinned === null ? [] : together(scene, pinned)
  for (const [k, node] of [...parts.words.querySelectorAll(".word")].entries()) {
    const colour = tables.signed[toned(scene.tones?.[k] ?? 0, { peak: 1, signed: true })]
    Object.assign(node.style, { background: css(colour), color: bright(colour) ? "#000" : "#fff" })
    node.classList.toggle("lit", lit.includes(k))
    node.classList.toggle("asked", cell !== null && scene.maps.shown[cell[1]] === k)
    node.setAttribute("aria-pressed", String(fixed.includes(k)))
    const place = scene.placeOf.get(k), part = taken && place !== undefined ? taken[place] : 0
    Object.assign(node.lastChild.style, { width: `${(100 * Math.abs(part)) / most}%`, background: look.signed.at(part < 0 ? 1 : -2) })
  }
  const left = i === null ? null : without(scene, i), p = scene.probabilities[scene.aim.place]
  for (const k of scene.labels.keys()) {
    const [track, said] = [1, 2].map(c => parts.answer.children[3 * k + c]), part = track.children[1], here = k === scene.aim.place && left !== null
    part.hidden = !here
    if (here) Object.assign(part.style, { left: `${100 * Math.min(p, left)}%`, width: `${100 * Math.abs(p - left)}%` })
    part.className = left !== null && left > p ? "part gain" : "part"
    said.textContent = here ? `${percent(p, 1)}, without it ${share(left)}` : said.dataset.said
  }
  if (!scene.maps) return
  const shares = lit.length ? given(scene, lit) : null, top = shares ? Math.max(...shares.flat()) || 1 : 1
  for (const node of parts.leading.querySelectorAll(".show")) node.setAttribute("aria-pressed", String(own.layer === Number(node.dataset.layer) && own.head === Number(node.dataset.head)))
  for (const node of parts.heads.querySelectorAll(".tile")) {
    const [layer, head] = [Number(node.dataset.layer), Number(node.dataset.head)]
    node.firstChild.style.opacity = shares ? 0.3 + 0.7 * (shares[layer][head] / top) : 1
    node.classList.toggle("most", shares !== null && shares[layer][head] === top)
    node.setAttribute("aria-pressed", String(own.layer === layer && own.head === head))
  }
  for (const [layer, node] of [...parts.heads.querySelectorAll(".layer")].entries()) node.setAttribute("aria-pressed", String(own.layer === layer && own.head < 0))
}

const bright = channels => !dark(`#${channels.map(value => Math.round(value).toString(16).padStart(2, "0")).join("")}`)
