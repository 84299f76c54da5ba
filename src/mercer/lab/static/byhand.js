// The walk by hand: one visit as on the board, the row of α, the row of K, the sum term by term, sign(0).
import {h, number} from "./dom.js";

export const MOST = 10;   // points, of which a table still fits

// α per point after t visits, in the signs of the lecture: y times how often it was wrong.
export function alphas(visits, t, n) {
  const alpha = new Array(n).fill(0);
  for (let v = 0; v < t; v++) alpha[visits.index[v]] += visits.update[v];
  return alpha;
}

// The table of visit t (the first is 1), of two classes; `K(i, j)` is k between two points.
export function walk(visits, t, y, classes, K) {
  const n = y.length, sign = (v) => v > 0 ? "+" : "−";
  if (t < 1) return h("p", {class: "note"}, "Step to the first visit: every α is 0, so is every sum, and sign(0) counts as −1.");
  const i = visits.index[t - 1], before = alphas(visits, t - 1, n), after = alphas(visits, t, n), terms = before.map((a, j) => [a, K(j, i)]);
  const sum = terms.reduce((total, [a, k]) => total + a * k, 0), target = y[i] === classes[1] ? 1 : -1, wrong = before[i] !== after[i], small = Math.abs(sum) < 1e-9;
  const row = (head, values, bold = -1) => h("tr", {}, h("th", {scope: "row"}, head), ...values.map((v, j) => h("td", {class: j === bold ? "here" : null}, v)));
  return h("div", {class: "byhand"},
    h("table", {}, h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "point"), ...y.map((c, j) => h("th", {scope: "col", class: j === i ? "here" : null}, `${j + 1} (${c === classes[1] ? "+" : "−"})`)))),
      h("tbody", {}, row("α before", before.map((a) => number(a)), i), row(`k(·, x${sub(i + 1)})`, terms.map(([, k]) => number(k)), i), row("α · k", terms.map(([a, k]) => number(a * k)), i), row("α after", after.map((a) => number(a)), i))),
    h("p", {}, h("b", {}, `Visit ${t}, point ${i + 1}: `), terms.map(([a, k]) => `${paren(a)}×${paren(k)}`).join(" + "), ` = ${number(sum)}. `,
      small ? "sign(0) = −1, " : `Its sign is ${sign(sum)}, `, `y = ${target > 0 ? "+1" : "−1"}: `, h("b", {}, wrong ? `wrong, α${sub(i + 1)} becomes ${number(after[i])}.` : "right, nothing changes.")));
}

const paren = (v) => v < 0 ? `(${number(v)})` : number(v);
const sub = (n) => String(n).replace(/\d/g, (d) => "₀₁₂₃₄₅₆₇₈₉"[d]);
