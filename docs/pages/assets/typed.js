// The recorded picture of a sentence gives way to the page that computes when that has been loaded; on phones, when the reader asks for it.
for (const place of document.querySelectorAll(".typed")) {
  const button = place.querySelector("button")
  const load = () => {
    button.hidden = true
    for (const old of place.querySelectorAll("iframe")) {
      if (!old.offsetParent) continue // of the other theme
      const fresh = Object.assign(old.cloneNode(), { src: `${place.dataset.assets}/type-${old.dataset.theme}.html`, loading: "eager" })
      Object.assign(fresh.style, { position: "absolute", top: 0, left: 0, visibility: "hidden" })
      fresh.onload = () => {
        old.remove()
        fresh.removeAttribute("style")
      }
      old.after(fresh)
    }
  }
  button.onclick = load
  const small = matchMedia("(max-width: 700px)").matches || navigator.connection?.saveData
  const whenSeen = ([seen], watch) => {
    if (!seen.isIntersecting) return
    watch.disconnect()
    load()
  }
  if (small) button.hidden = false
  else new IntersectionObserver(whenSeen).observe(place)
}
