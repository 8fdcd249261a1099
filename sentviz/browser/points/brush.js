// brush: draws points on a canvas with the graphics card, or with stamps if there is none.

import { ease } from "../kit/maths.js"
import { now } from "./places.js"
import { stamps } from "./stamps.js"

const VERTEX = `#version 300 es
layout(location = 0) in vec3 before;
layout(location = 1) in vec3 a;
layout(location = 2) in vec3 b;
layout(location = 3) in vec3 tint;
layout(location = 4) in float symbol;
uniform mat3 turn;
uniform vec3 centre;
uniform vec2 scale;
uniform float part, arrived, reach, size;
flat out vec3 colour;
flat out float shape, pixels;
void main() {
  vec3 seen = turn * (mix(before, mix(a, b, part), arrived) - centre);
  float near = seen.z / reach;
  gl_Position = vec4(seen.xy * scale, -0.5 * near, 1.0);
  gl_PointSize = pixels = size * (1.0 + 0.35 * near);
  colour = tint;
  shape = symbol;
}`
const FRAGMENT = `#version 300 es
precision mediump float;
uniform float alpha, least;
uniform vec4 ring;
flat in vec3 colour;
flat in float shape, pixels;
out vec4 ink;
float plus(vec2 q) { return min(max(q.x - 0.9, q.y - 0.3), max(q.x - 0.3, q.y - 0.9)); }
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0, q = abs(p);
  float far = ring.a > 0.0 ? abs(length(p) - 0.8) - 1.3 / pixels
    : shape < 0.5 ? length(p) - 0.8
    : shape < 1.5 ? (q.x + q.y - 0.98) * 0.71
    : shape < 2.5 ? max(q.x, q.y) - 0.7
    : shape < 3.5 ? plus(q)
    : plus(0.71 * vec2(abs(p.x + p.y), abs(p.x - p.y)));
  float cover = clamp(0.5 - far * pixels * 0.5, 0.0, 1.0) * alpha;
  if (cover <= least) discard;
  ink = vec4(mix(colour, ring.rgb, ring.a) * cover, cover);
}`

/** Return a brush: `points` takes all positions, `leave` the start positions of a move, `look` colours and symbols, `draw` draws passes. */
export function brush(canvas) {
  return carded() ? card(canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true })) : stamps(canvas)
}

/** Return whether there is a graphics card; an emulated one is several times slower than stamps. */
function carded() {
  const gl = document.createElement("canvas").getContext("webgl2")
  if (!gl) return false
  const name = gl.getParameter(gl.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER)
  gl.getExtension("WEBGL_lose_context")?.loseContext()
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)
}

function card(gl) {
  const program = gl.createProgram()
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind)
    gl.shaderSource(shader, text)
    gl.compileShader(shader)
    gl.attachShader(program, shader)
  }
  gl.linkProgram(program)
  const at = name => gl.getUniformLocation(program, name)
  const names = ["turn", "centre", "scale", "part", "arrived", "reach", "size", "alpha", "least", "ring"]
  const where = Object.fromEntries(names.map(name => [name, at(name)]))
  const kept = Object.fromEntries(["places", "before", "tint", "symbol", "order"].map(name => [name, gl.createBuffer()]))
  const put = (name, values, kind = gl.ARRAY_BUFFER) => {
    gl.bindBuffer(kind, kept[name])
    gl.bufferData(kind, values, gl.DYNAMIC_DRAW)
  }
  const bind = (spot, name, size, kind, even, offset) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, kept[name])
    gl.enableVertexAttribArray(spot)
    gl.vertexAttribPointer(spot, size, kind, even, 0, offset)
  }
  return {
    points: values => put("places", values),
    leave: values => put("before", values),
    look(tint, symbol, order) {
      put("tint", tint)
      put("symbol", symbol)
      put("order", order, gl.ELEMENT_ARRAY_BUFFER)
    },
    draw(view, passes, ratio) {
      const { scene, camera, width, height } = view
      const [from, to, part] = now(view), middle = camera.middle, row = 4 * scene.n * scene.dims, deep = scene.dims === 3
      gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight)
      gl.clearColor(0, 0, 0, 0)
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT)
      gl.useProgram(program)
      gl.enable(gl.BLEND)
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
      gl[deep ? "enable" : "disable"](gl.DEPTH_TEST)
      gl.depthFunc(gl.LEQUAL)
      bind(0, view.before ? "before" : "places", scene.dims, gl.FLOAT, false, 0)
      bind(1, "places", scene.dims, gl.FLOAT, false, from * row)
      bind(2, "places", scene.dims, gl.FLOAT, false, to * row)
      bind(3, "tint", 3, gl.UNSIGNED_BYTE, true, 0)
      bind(4, "symbol", 1, gl.UNSIGNED_BYTE, false, 0)
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, kept.order)
      gl.uniformMatrix3fv(where.turn, true, camera.turn)
      gl.uniform3f(where.centre, middle[0], middle[1], middle[2] || 0)
      gl.uniform2f(where.scale, (2 * camera.scale) / width, (2 * camera.scale) / height)
      gl.uniform1f(where.part, part)
      gl.uniform1f(where.arrived, view.before ? ease(view.arrived) : 1)
      gl.uniform1f(where.reach, camera.reach)
      for (const { start, count, alpha, size, ring } of passes) {
        gl.depthMask(deep && alpha > 0.5)
        gl.uniform1f(where.least, deep && alpha > 0.5 ? alpha / 2 : 0)
        gl.uniform1f(where.alpha, alpha)
        gl.uniform1f(where.size, size * ratio)
        gl.uniform4fv(where.ring, ring || [0, 0, 0, 0])
        if (count) gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 4 * start)
      }
      gl.depthMask(true)
    },
  }
}
