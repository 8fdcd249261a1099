// In the app: Streamlit calls this whenever its data or the theme changes.

const views = new WeakMap()

export default function (component) {
  const { parentElement, data, setTriggerValue } = component
  let view = views.get(parentElement)
  if (!view) views.set(parentElement, (view = mount(parentElement)))
  view.tell = setTriggerValue
  if (view.mark !== data.mark) {
    view.mark = data.mark
    view.heard = data.layer
    load(view, data)
  }
  resize(view)
  return () => {
    view.end()
    views.delete(parentElement)
  }
}
