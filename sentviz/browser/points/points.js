// mount: a picture of points with its state.

import { live } from "../kit/canvas.js"
import { parts } from "../kit/dom.js"
import { brush } from "./brush.js"
import { hands } from "./hands.js"
import { load, looked, resize, tick } from "./stage.js"

const PARTS = ["title", "legend", "modes", "in", "out", "whole", "stage", "under", "names", "over", "tip", "track", "play", "time", "marks"]

export function mount(root) {
  const view = {
    parts: parts(root, PARTS),
    still: matchMedia("(prefers-reduced-motion: reduce)").matches,
    hidden: new Set(),
    mode: "lasso",
    time: 0,
    goal: null, // layer to move to
    playing: false,
    before: null, // start positions of the points when a new picture arrives
    arrived: 1,
    hovered: null,
    path: null, // outline that is being drawn, in pixels
    show: data => show(view, data),
  }
  live(view, view.parts.stage, passed => tick(view, passed), () => resize(view))
  canvased(view, root.querySelector("canvas"))
  hands(view)
  return view
}

function canvased(view, canvas) {
  view.canvas = canvas
  view.brush = brush(canvas)
  canvas.addEventListener("webglcontextlost", event => event.preventDefault())
  canvas.addEventListener("webglcontextrestored", () => {
    view.brush = brush(canvas)
    view.brush.points(view.scene.places)
    Object.assign(view, { before: null, arrived: 1 })
    looked(view)
  })
}

function show(view, data) {
  if (view.mark !== data.mark) {
    Object.assign(view, { mark: data.mark, heard: data.layer })
    load(view, data)
  }
  resize(view)
}
