// Classes: a color and a shape each, so that color is never the only sign.
import {css, s} from "./dom.js";

export const color = (c) => css(`--c${c}`);

const polygon = (n, turn, inner = 1) => {
  const points = [];
  const steps = inner === 1 ? n : 2 * n;
  for (let i = 0; i < steps; i++) {
    const r = i % 2 && inner !== 1 ? inner : 1, angle = turn + 2 * Math.PI * i / steps;
    points.push([r * Math.sin(angle), -r * Math.cos(angle)]);
  }
  return points;
};
const cross = (turn) => {
  const a = .34, b = 1.05;
  return [[-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]]
    .map(([x, y]) => [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]);
};
// Unit outlines; null is a circle.
const OUTLINES = [null, polygon(4, 0).map(([x, y]) => [1.22 * x, 1.22 * y]), polygon(3, 0).map(([x, y]) => [1.25 * x, 1.25 * y + .15]),
  polygon(4, Math.PI / 4).map(([x, y]) => [1.22 * x, 1.22 * y]), cross(0), polygon(3, Math.PI).map(([x, y]) => [1.25 * x, 1.25 * y - .15]),
  polygon(5, 0, .5).map(([x, y]) => [1.35 * x, 1.35 * y]), polygon(5, 0).map(([x, y]) => [1.1 * x, 1.1 * y]), cross(Math.PI / 4), polygon(6, 0).map(([x, y]) => [1.1 * x, 1.1 * y])];
const NAMES = ["circle", "diamond", "triangle", "square", "plus", "triangle pointing down", "star", "pentagon", "cross", "hexagon"];

export const nameOf = (c) => `class ${c + 1}, ${NAMES[c]}`;

export function trace(context, c, x, y, r) {
  context.beginPath();
  const outline = OUTLINES[c];
  if (!outline) { context.arc(x, y, r, 0, 2 * Math.PI); return; }
  outline.forEach(([u, v], i) => i ? context.lineTo(x + r * u, y + r * v) : context.moveTo(x + r * u, y + r * v));
  context.closePath();
}

export function icon(c) {
  const outline = OUTLINES[c];
  const shape = outline
    ? s("path", {d: "M" + outline.map(([u, v]) => `${(8 + 6 * u).toFixed(2)},${(8 + 6 * v).toFixed(2)}`).join("L") + "Z"})
    : s("circle", {cx: 8, cy: 8, r: 6});
  shape.setAttribute("fill", `var(--c${c})`);
  return s("svg", {viewBox: "0 0 16 16", "aria-hidden": "true"}, shape);
}
