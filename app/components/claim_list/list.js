// mount: the claims of papers below each other, each with a button per verdict.

import { html } from "../../../sentviz/browser/kit/dom.js"

export function mount(root) {
  const host = root.querySelector(".claims")
  const view = { tell: () => {}, end: () => {}, show: data => show(view, host, data) }
  return view
}

function show(view, host, data) {
  const focused = host.getRootNode().activeElement?.dataset?.key
  host.replaceChildren(...data.rows.flatMap(row => [
    ...(row.paper ? [html("h4", row.paper)] : []),
    ...(row.group ? [html("h5", row.group)] : []),
    html("p", row.words),
    buttons(view, row.verdicts, data),
  ]))
  if (focused) host.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus()
}

function buttons(view, verdicts, data) {
  const line = html("div", "", { className: "verdicts" })
  line.append(...verdicts.map(verdict => button(view, verdict, data)))
  return line
}

/** Return the button of one verdict: its sign, its data set, and its words. */
function button(view, { key, verdict, on, words }, { looks, chosen }) {
  const node = html("button", "", { type: "button", onclick: () => view.tell("pick", key) })
  const sign = html("span", looks[verdict].sign, { className: "sign" })
  Object.assign(sign.style, { background: looks[verdict].colour, color: looks[verdict].ink })
  sign.setAttribute("aria-hidden", "true")
  const text = html("span")
  text.append(html("b", on), ` ${words}`)
  node.append(sign, text)
  node.dataset.key = key
  node.setAttribute("aria-pressed", key === chosen)
  return node
}
