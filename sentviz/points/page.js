// In a file of its own.

{
  const view = mount(document.body)
  load(view, JSON.parse(document.getElementById("points").textContent))
  resize(view)
}
