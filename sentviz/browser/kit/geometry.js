// Plane geometry: inside (a point in an outline), hull, nearest (of many points), meets (two boxes).

/** Return whether x, y is inside a closed outline, by the even-odd rule. @param {number[][]} corners */
export function inside(x, y, corners) {
  let odd = false
  for (let i = 0, before = corners.at(-1); i < corners.length; before = corners[i++]) {
    const corner = corners[i]
    if (corner[1] > y !== before[1] > y && x < corner[0] + ((y - corner[1]) * (before[0] - corner[0])) / (before[1] - corner[1])) odd = !odd
  }
  return odd
}

/** Return the indices of the convex hull of points (x0, y0, x1, y1, ...), counter-clockwise with y up (Andrew's monotone chain). */
export function hull(points, count) {
  const order = [...Array(count).keys()].sort((a, b) => points[2 * a] - points[2 * b] || points[2 * a + 1] - points[2 * b + 1])
  const turn = (o, a, b) =>
    (points[2 * a] - points[2 * o]) * (points[2 * b + 1] - points[2 * o + 1]) - (points[2 * a + 1] - points[2 * o + 1]) * (points[2 * b] - points[2 * o])
  const chain = along => {
    const kept = []
    for (const i of along) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), i) <= 0) kept.pop()
      kept.push(i)
    }
    return kept.slice(0, -1)
  }
  return count < 3 ? order : [...chain(order), ...chain(order.reverse())]
}

/** Return the point nearest to x, y within a distance, or null. `handicap(i)` is added to a point's distance in pixels; Infinity leaves the point out.
 * @returns {number|null} */
export function nearest(points, count, x, y, within, handicap = () => 0) {
  let best = null, least = within
  for (let i = 0; i < count; i++) {
    const far = Math.hypot(points[2 * i] - x, points[2 * i + 1] - y)
    if (far < within && far + handicap(i) < least) [best, least] = [i, far + handicap(i)]
  }
  return best
}

/** Return whether two boxes [x, y, width, height] overlap. */
export const meets = (a, b) => a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]
