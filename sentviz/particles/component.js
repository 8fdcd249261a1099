// In the app: Streamlit calls this whenever its data or the theme changes.

const views = new WeakMap()

export default function (component) {
  const { parentElement, data, setStateValue, setTriggerValue } = component
  let view = views.get(parentElement)
  if (!view) views.set(parentElement, (view = mount(parentElement)))
  view.tell = (name, value) => (name === "point" ? setTriggerValue : setStateValue)(name, value)
  if (view.mark !== data.mark) {
    view.mark = data.mark
    load(view, data)
  }
  dress(view)
  return () => {
    view.end()
    views.delete(parentElement)
  }
}
