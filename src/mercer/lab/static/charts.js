// Small charts with a dashed bound.
import {h, number, s} from "./dom.js";

// `lines`: [{values, kind: "line" | "bound"}]; `now`: the index of the dot.
// `best`: the index that is marked as the least.
export function chart(caption, lines, now = null, W = 240, best = null, H = 92) {
  const length = Math.max(...lines.map((l) => l.values.length));
  const top = Math.max(1e-9, ...lines.flatMap((l) => [Math.max(...l.values)]));
  const low = Math.min(0, ...lines.flatMap((l) => [Math.min(...l.values)]));
  const x = (i, n) => n < 2 ? W / 2 : 1 + i / (length - 1) * (W - 2), y = (v) => H - 4 - (v - low) / (top - low || 1) * (H - 12);
  const svg = s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": caption.map((c) => c.textContent ?? c).join("")},
    s("line", {class: "chart-rule", x1: 0, x2: W, y1: y(0), y2: y(0)}));
  for (const {values, kind} of lines) {
    const path = thin(values).map(([i, v]) => `${x(i, values.length).toFixed(1)},${y(v).toFixed(1)}`).join("L");
    svg.append(s("path", {class: `chart-${kind}`, d: `M${path}`}));
  }
  if (now !== null && lines[0].values.length) {
    const i = Math.min(now, lines[0].values.length - 1);
    svg.append(s("circle", {class: "chart-now", cx: x(i, length), cy: y(lines[0].values[i]), r: 3.5}));
  }
  if (best !== null) svg.append(s("line", {class: "chart-bound", x1: x(best, length), x2: x(best, length), y1: 0, y2: H - 4}));
  return h("figure", {}, h("figcaption", {}, ...caption), svg);
}

// The errors over the visits of a perceptron, under its play bar; or over the rounds of a metric, of which 0 is one, too.
export function paths({training, left, fresh}, now, what = "visit") {
  const at = (values) => values && now > 0 ? `${(100 * values[now - 1]).toFixed(1)} %` : "–";
  return chart([h("b", {}, `Error after ${what} ${what === "visit" ? now : now - 1}: training ${at(training)}`), ...(left ? [`, left out (dashed) ${at(left)}`] : []), ...(fresh ? [`, new points (dotted) ${at(fresh)}`] : [])],
    [{values: training, kind: "line"}, ...(left ? [{values: left, kind: "bound"}] : []), ...(fresh ? [{values: fresh, kind: "fresh"}] : [])], Math.max(0, now - 1), 600, null, 48);
}

// The proof as two arrows: w* stands, w grows and turns toward it; `cosine` of the angle between them.
export function arrows(cosine, length, W = 240, H = 92) {
  const angle = Math.acos(Math.max(-1, Math.min(1, cosine))), ox = 24, oy = H - 10, long = 78;
  const arrow = (turn, size, kind, name) => {
    const x = ox + size * Math.cos(turn), y = oy - size * Math.sin(turn), back = (d) => `${x - 7 * Math.cos(turn + d)},${y + 7 * Math.sin(turn + d)}`;
    return [s("path", {class: kind, d: `M${ox},${oy}L${x},${y}M${back(.4)}L${x},${y}L${back(-.4)}`}), s("text", {class: "chart-word", x: x + 6, y: y + 4}, name)];
  };
  const degrees = Math.round(angle * 180 / Math.PI);
  return h("figure", {}, h("figcaption", {}, h("b", {}, `w and w*: ${degrees}°`)), s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `The angle between w and w* is ${degrees} degrees`},
    ...arrow(.12, long, "chart-bound", "w*"), ...arrow(.12 + angle, Math.max(14, long * length), "chart-line", "w")));
}

// The two curves of the proof over the number of mistakes: ρM ≤ ⟨w, w*⟩ ≤ ‖w‖ ≤ R√M holds no farther than where they meet.
export function meeting({bound, margin}, R, made, aligned, norm, W = 240, H = 92) {
  const last = 1.12 * bound, top = R * Math.sqrt(last), x = (m) => 1 + Math.sqrt(m / last) * (W - 2), y = (v) => H - 4 - Math.max(0, v) / top * (H - 12);
  const path = (of) => `M${Array.from({length: 61}, (_, i) => (i / 60) ** 2 * last).map((m) => `${x(m).toFixed(1)},${y(of(m)).toFixed(1)}`).join("L")}`;
  return h("figure", {}, h("figcaption", {}, h("b", {}, `ρM and R√M meet at ${number(bound)}`), " mistakes (√ axis)"), s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `After ${made} mistakes ⟨w, w*⟩ = ${number(aligned)} and ‖w‖ = ${number(norm)}; the curves meet at ${number(bound)} mistakes`},
    s("line", {class: "chart-rule", x1: 0, x2: W, y1: y(0), y2: y(0)}), s("path", {class: "chart-bound", d: path((m) => margin * m)}), s("path", {class: "chart-bound", d: path((m) => R * Math.sqrt(m))}),
    s("line", {class: "chart-line", x1: x(made), x2: x(made), y1: y(aligned), y2: y(norm)}), ...[aligned, norm].map((v) => s("circle", {class: "chart-now", cx: x(made), cy: y(v), r: 3}))));
}

// One bar per point that counts, in the color of its class; `bars`: [{value, kind}].
export function bars(caption, values, colors, W = 240, H = 92) {
  const top = Math.max(1e-9, ...values.map(Math.abs)), low = Math.min(0, ...values), reach = top * (low < 0 ? 2 : 1), w = W / Math.max(12, values.length);
  const zero = low < 0 ? H / 2 : H - 4, unit = (H - 8) / reach;
  return h("figure", {}, h("figcaption", {}, ...caption), s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "α of the points that were updated on"},
    s("line", {class: "chart-rule", x1: 0, x2: W, y1: zero, y2: zero}),
    ...values.map((v, i) => s("rect", {x: i * w + .5, width: Math.max(1, w - 1.5), y: v >= 0 ? zero - v * unit : zero, height: Math.max(.5, Math.abs(v) * unit), fill: `var(--c${colors[i]})`}))));
}

// At most a few hundred points of a long line.
function thin(values) {
  const step = Math.max(1, Math.floor(values.length / 300)), out = [];
  for (let i = 0; i < values.length; i += step) out.push([i, values[i]]);
  if (values.length && (values.length - 1) % step) out.push([values.length - 1, values[values.length - 1]]);
  return out;
}
