// Where a view lives: inApp (Streamlit calls it with new data or another theme), inPage (a file of its own).

/** @typedef {{show: (data: any) => void, end: () => void, tell: (name: string, value: any) => void, lasting?: string[]}} View
 * `tell` is what Python hears: `lasting` names are kept as state, others are said once. */

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

/** @param {(root: ParentNode) => View} mount @param {string} id of the element that holds the data */
export function inPage(mount, id) {
  const view = mount(document.body)
  view.tell = () => {}
  view.show(JSON.parse(document.getElementById(id).textContent))
}
