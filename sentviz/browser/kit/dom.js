// Nodes: html, parts (by class), labelled (an accessible name), and a slider with a button per layer: layMarks, markLayer.

/** @param {string} text set as text, never as markup */
export function html(name, text = "", more = {}) {
  const node = Object.assign(document.createElement(name), more)
  node.textContent = text
  return node
}

/** Return the nodes below a root by their classes. @param {string[]} names */
export const parts = (root, names) => Object.fromEntries(names.map(name => [name, root.querySelector(`.${name}`)]))

/** Set the accessible name of a node. */
export const labelled = (node, text) => node.setAttribute("aria-label", text)

/** Put a button below each layer of a slider, which runs from the middle of the first one to the middle of the last one. */
export function layMarks({ time, marks }, buttons, layers = buttons.length) {
  time.max = layers - 1
  Object.assign(time.style, buttons.length
    ? { width: `calc(${(100 * (layers - 1)) / layers}% + 16px)`, margin: `0 0 0 calc(${50 / layers}% - 8px)` }
    : { width: "100%", margin: "0" })
  marks.replaceChildren(...buttons)
}

/** Mark the button of the present layer. */
export function markLayer({ marks }, layer) {
  for (const [i, button] of [...marks.children].entries()) {
    if (i === layer) button.setAttribute("aria-current", "step")
    else button.removeAttribute("aria-current")
  }
}
