// The host of a view in a notebook: anywidget calls `render` with the model, whose `data` are what the view shows.

const PAUSE = 300 // milliseconds without a key after which the kernel is asked

/** @param {(root: any) => any} mount @param {string} markup of the view @param {string} style of the view, which the notebook does not see */
export function inNotebook(mount, markup, style) {
  return {
    render({ model, el }) {
      const root = el.appendChild(document.createElement("div")).attachShadow({ mode: "open" })
      root.innerHTML = `<style>${style}</style>${markup}`
      const view = mount(root), show = () => view.show(model.get("data")), forget = typed(root, model)
      view.tell = (name, value) => model.send({ name, value })
      model.on("change:data", show)
      show()
      return () => {
        model.off("change:data", show)
        forget()
        view.end()
      }
    },
  }
}

/** Let the kernel follow the sentence in the box, if the view has one. */
function typed(root, model) {
  const box = root.querySelector(".sentence"), says = root.querySelector(".says")
  if (!box) return () => {}
  let timer = 0
  const told = () => {
    if (root.activeElement !== box) box.value = model.get("text")
    says.textContent = model.get("answer")
  }
  const send = () => {
    clearTimeout(timer)
    model.set("text", box.value)
    model.save_changes()
  }
  box.oninput = () => {
    clearTimeout(timer)
    timer = setTimeout(send, PAUSE)
  }
  box.onchange = send
  model.on("change:text change:answer", told)
  told()
  return () => {
    clearTimeout(timer)
    model.off("change:text change:answer", told)
  }
}
