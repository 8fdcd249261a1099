// In a file of its own.

{
  const view = mount(document.body)
  load(view, JSON.parse(document.getElementById("scene").textContent))
  dress(view)
}
