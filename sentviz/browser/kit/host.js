// The host of a view: inApp (Streamlit calls it with new data or a new theme), inPage (a separate file).

/** @typedef {{show: (data: any) => void, end: () => void, tell: (name: string, value: any) => void, lasting?: string[],
 * pose?: (time: number) => void}} View
 * `tell` sends a value to Python: `lasting` names are stored as state, others are sent once. `pose` paints a time at once, without any motion. */

/** @param {(root: ParentNode) => View} mount */
export function inApp(mount) {
  const views = new WeakMap()
  return ({ parentElement: root, data, setStateValue, setTriggerValue }) => {
    if (!views.has(root)) views.set(root, mount(root))
    const view = views.get(root)
    view.tell = (name, value) => (view.lasting?.includes(name) ? setStateValue : setTriggerValue)(name, value)
    view.show(data)
    return () => {
      view.end()
      views.delete(root)
    }
  }
}

/** @param {(root: ParentNode) => View} mount @param {string} id of the element with the data */
export function inPage(mount, id) {
  const view = mount(document.body)
  view.tell = () => {}
  view.show(JSON.parse(document.getElementById(id).textContent))
  if (view.pose) globalThis.pose = view.pose // sentviz.browser.gif calls it
}
