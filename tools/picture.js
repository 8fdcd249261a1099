/** What a browser draws of an SVG, read back with its places: words line by line, and marks. Asked by tools/picture.py. */
async (svg) => {
  document.body.innerHTML = svg;
  await document.fonts.ready;
  await Promise.all([...document.fonts].map(font => font.load().catch(() => 0)));
  const root = document.querySelector("svg");
  const corners = (box, m) => [[box.x, box.y], [box.x + box.width, box.y], [box.x + box.width, box.y + box.height], [box.x, box.y + box.height]]
    .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
  const edges = r => [r.left, r.top, r.right, r.bottom];
  const clips = new Map();
  const clipOf = element => {  // of the parts that the element belongs to: what they are cut to
    if (!element || element === root) return null;
    if (clips.has(element)) return clips.get(element);
    let found = clipOf(element.parentNode);
    const named = /url\(["']?#([^"')]+)/.exec(element.getAttribute("clip-path") || element.style.clipPath || "");
    const shape = named && root.querySelector(`[id="${named[1]}"] > *`);
    if (shape) {
      const at = corners(shape.getBBox(), element.getScreenCTM());
      const own = [Math.min(...at.map(p => p[0])), Math.min(...at.map(p => p[1])), Math.max(...at.map(p => p[0])), Math.max(...at.map(p => p[1]))];
      found = found ? [Math.max(own[0], found[0]), Math.max(own[1], found[1]), Math.min(own[2], found[2]), Math.min(own[3], found[3])] : own;
    }
    clips.set(element, found);
    return found;
  };
  const seen = element => {
    for (let part = element; part && part !== root; part = part.parentNode) {
      const style = getComputedStyle(part);
      if (style.display === "none" || style.visibility === "hidden" || +style.opacity === 0) return false;
    }
    return true;
  };
  const PARTS = [/^legend\d*$/, /^g-gtitle$/, /^x\d*tick$/, /^y\d*tick$/, /^g-x\d*title$/, /^g-y\d*title$/, /^cb/, /^annotation$/, /^gridlayer$/, /^zerolinelayer$/];
  const NAMES = ["legend", "title", "tick", "tick", "axis", "axis", "scale", "note", "grid", "grid"];
  const part = element => {
    for (let up = element; up && up !== root; up = up.parentNode)
      for (const name of up.classList ?? []) { const at = PARTS.findIndex(one => one.test(name)); if (at >= 0) return NAMES[at]; }
    return "plot";
  };
  const letters = line => {  // of the smallest in a line, as drawn
    const m = line.getScreenCTM(), grown = Math.sqrt(Math.abs(m.a * m.d - m.b * m.c));
    const parts = [line, ...line.querySelectorAll("tspan")].filter(one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
    return grown * Math.min(...parts.map(one => parseFloat(getComputedStyle(one).fontSize)));
  };
  const words = [], marks = [];
  for (const text of root.querySelectorAll("text")) {
    if (!text.textContent.trim() || !seen(text)) continue;
    const style = getComputedStyle(text);
    if (+style.fillOpacity === 0) continue;
    const lines = text.querySelectorAll("tspan.line");
    for (const line of lines.length ? lines : [text]) {
      if (!line.textContent.trim()) continue;
      words.push({text: line.textContent, part: part(text), letters: letters(line), corners: corners(line.getBBox(), text.getScreenCTM()), clip: clipOf(text)});
    }
  }
  for (const mark of root.querySelectorAll("path, rect, circle, line, polygon, image, use")) {
    if (mark.closest("defs, clipPath, marker") || mark.classList.contains("bg") || mark.closest(".bglayer, .draglayer")) continue;
    if (mark.parentNode === root || mark.closest(".layer-subplot") || !seen(mark)) { if (mark.tagName === "rect") continue; }
    const style = getComputedStyle(mark);
    const filled = style.fill !== "none" && +style.fillOpacity > 0, drawn = style.stroke !== "none" && +style.strokeOpacity > 0 && parseFloat(style.strokeWidth) > 0;
    if (mark.tagName !== "image" && !filled && !drawn || !seen(mark)) continue;
    const box = mark.getBoundingClientRect();
    if (!box.width && !box.height) continue;
    const along = [];
    const length = mark.tagName === "path" && !filled ? mark.getTotalLength() : 0;
    if (length) {
      const m = mark.getScreenCTM(), count = Math.min(Math.ceil(length / 4), 240);
      for (let i = 0; i <= count; i++) { const p = mark.getPointAtLength(length * i / count); along.push([m.a * p.x + m.c * p.y + m.e, m.b * p.x + m.d * p.y + m.f]); }
    }
    marks.push({part: part(mark), kind: mark.getAttribute("class") || mark.tagName, box: edges(box), clip: clipOf(mark), along});
  }
  const frame = root.getBoundingClientRect();
  return {frame: edges(frame), words, marks};
}
