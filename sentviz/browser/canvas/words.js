// Texts about a sentence: share, mapName, ofWord, ofHead, ofCell, filled (a step of the tour).

import { fixed, percent, weight } from "../kit/format.js"
import { column, fallen, largest, leading, map, row, together, without } from "./scene.js"

/** Write a probability without claiming certainty: 0.9996 is ">99 %". */
export const share = p => (p > 0.995 ? `>${percent(0.99)}` : p < 0.005 ? `<${percent(0.01)}` : percent(p))

const quoted = text => `“${text}”`
const pieces = (scene, tokens) => quoted(tokens.map(i => scene.tokens[i] ?? "").join(" "))
const headName = (scene, { layer, head }) => `layer ${scene.maps.layers[layer]}, ${head < 0 ? "mean of heads" : `head ${scene.maps.heads[head]}`}`

/** Return the name of a map: "Effective attention, layer 2, head 3". */
export function mapName(scene, pick) {
  const what = scene.maps.parts.length < 2 ? "Attention" : pick.part ? scene.maps.parts[pick.part] : "Effective attention"
  return `${what}, ${headName(scene, pick)}`
}

/** Return class and probability without a unit: "Without it: positive 22 %". */
function left(scene, i) {
  const p = without(scene, i)
  return p === null ? "" : `Without it: ${scene.aim.name} ${share(p)}.`
}

/** Describe a word in the map: the words that it reads, the words that read it, the prediction without it. */
export function ofWord(scene, pick, i) {
  const tokens = together(scene, i), said = []
  if (pick) {
    const [taken, taking] = [row(scene, pick, tokens), column(scene, pick, tokens)]
    const named = (values, most) => largest(values, most).filter(k => values[k]).map(k => `${quoted(scene.maps.names[k])} ${weight(values[k])}`).join(", ") || "none"
    if (taken) said.push(`attends most to ${named(taken, 3)}; it gets most attention from ${named(taking, 2)}.`)
    else said.push("is not in the maps, which show only the tokens with most attention.")
  } else said.push("")
  return [`${pieces(scene, tokens)} ${said[0]}`.trim(), left(scene, i)].filter(Boolean).join(" ")
}

/** Describe a head by the probability without it. */
export function ofHead(scene, pick) {
  const { layer, head } = pick
  if (head < 0) return `The mean over the heads of layer ${scene.maps.layers[layer]}.`
  const name = `Layer ${scene.maps.layers[layer]}, head ${scene.maps.heads[head]}`
  if (silent(scene, layer, head)) return `${name} is silenced: it adds nothing.`
  const fall = scene.heads?.[layer][head] ?? null
  if (fall === null) return `${name}.`
  const does = Math.abs(fall) < 0.05 ? "hardly changes" : fall > 0 ? "supports" : "opposes"
  return `${name} ${does} ${scene.aim.says}: ${scene.aim.name} ${share(fallen(scene, 0))} with it, ${share(fallen(scene, fall))} without it.`
}

export const silent = (scene, layer, head) => scene.off.some(([l, h]) => l === scene.maps.layers[layer] - 1 && h === scene.maps.heads[head] - 1)

/** Describe a cell by its weight and the components that it is mixed from. @param {[number, number]} cell places of query and key */
export function ofCell(scene, pick, [query, key]) {
  const { maps, side } = scene, at = query * side + key, value = map(scene, pick)[at]
  const said = `${quoted(maps.names[query])} attends to ${quoted(maps.names[key])} with weight ${weight(value)}`
  if (maps.parts.length < 2 || pick.part) return `${said}.`
  const parts = maps.parts.slice(1).map((name, c) => {
    const lambda = maps.lambdas[pick.layer][c], a = weight(map(scene, { ...pick, part: c + 1 })[at])
    return c ? `${lambda < 0 ? "−" : "+"} ${fixed(Math.abs(lambda))} · ${a} (${name})` : `${a} (${name})`
  })
  return `${said} ≈ ${parts.join(" ")}.`
}

/** Fill in the text of a tour's step for the present sentence. */
export function filled(scene, pick, step) {
  const i = leading(scene), tokens = together(scene, i), taken = pick && row(scene, pick, tokens), other = taken && largest(taken, 1)[0]
  const p = without(scene, i), lambdas = scene.maps?.lambdas[pick.layer] || []
  const values = {
    word: tokens.map(k => scene.tokens[k]).join(" "),
    other: taken ? scene.maps.names[other] : "",
    weight: taken ? weight(taken[other]) : "",
    label: scene.labels[scene.best],
    share: share(scene.probabilities[scene.best]),
    without: p === null ? "not measured" : `${scene.aim.name} ${share(p)}`,
    lambda: lambdas.slice(1).map(value => fixed(value)).join(", "),
  }
  return step.text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)
}
