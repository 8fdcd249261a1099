// The list of rows: a cell for each epoch, the course of the row, its text if it is available.

import { html } from "../kit/dom.js"
import { some } from "../kit/format.js"
import { chosen, right } from "./scene.js"

const MOST = 200 // largest number of listed rows

/** Fill the choice of kinds, each with its number of rows. */
export function kinds({ film, parts }) {
  const options = ["changed", ...film.kinds].map(kind => html("option", `${kind} (${chosen(film, kind).length})`, { value: kind }))
  const now = parts.kind.value
  parts.kind.replaceChildren(...options)
  parts.kind.value = film.kinds.includes(now) ? now : "changed"
}

/** List the rows of the chosen kind. @param {(i: number|null) => void} point @param {(i: number) => void} pick */
export function list(view, point, pick) {
  const { film, parts } = view, found = chosen(film, parts.kind.value)
  parts.list.replaceChildren(...found.slice(0, MOST).map(i => row(view, i, point, pick)))
  const texts = film.rows.some(one => one.text) ? "" : " The texts are not installed, so rows are shown by id."
  const more = found.length > MOST ? ` The list shows the first ${MOST}.` : ""
  parts["rows-note"].textContent = `${some(found.length, "row")} of ${film.n.toLocaleString("en")} from ${film.split}, predicted after each epoch: teal is right, magenta is wrong.${more}${texts}`
}

function row({ film }, i, point, pick) {
  const one = film.rows[i], cells = html("span", "", { className: "cells" })
  cells.setAttribute("role", "img")
  cells.setAttribute("aria-label", film.epochs.map((epoch, k) => `epoch ${epoch} ${right(film, k, i) ? "right" : "wrong"}`).join(", "))
  cells.append(...film.epochs.map((_, k) => html("i", "", { className: `c${k} ${right(film, k, i) ? "good" : "bad"}` })))
  const node = html(film.asks ? "button" : "div", "", { className: "row", ...(film.asks ? { type: "button", title: "Follow this text through the epochs" } : {}) })
  const words = html("span", one.text || one.id, { className: "words", dir: "auto" })
  words.append(" ", html("small", `${film.classes[film.labels[i]]}${one.text ? ` · ${one.id}` : ""}`))
  node.append(cells, html("span", one.times > 1 ? `${one.kind}, ${one.times} ×` : one.kind, { className: "became" }), words)
  node.dataset.row = String(i)
  node.onpointerenter = () => point(i)
  node.onpointerleave = () => point(null)
  node.onfocus = () => point(i)
  node.onblur = () => point(null)
  if (film.asks) node.onclick = () => pick(i)
  return node
}

/** Mark the cells of the present epoch. */
export function mark({ parts }, stop) {
  for (const cell of parts.list.querySelectorAll("i.now")) cell.classList.remove("now")
  for (const cell of parts.list.querySelectorAll(`i.c${stop}`)) cell.classList.add("now")
}

/** Mark the row under the pointer. */
export function lit({ parts }, i) {
  for (const node of parts.list.querySelectorAll(".lit")) node.classList.remove("lit")
  if (i !== null) parts.list.querySelector(`[data-row="${i}"]`)?.classList.add("lit")
}
