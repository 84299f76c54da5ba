// Three who read a drawn digit: a perceptron, a support vector machine, and neighbors by tangent distance.
import * as L from "./learners.js";
import * as M from "./mercer.js";

const SIDE = 8, PIXELS = SIDE * SIDE, SPRING = 1e-5, SHORTEST = 1e-4, NEAR = 3, SHOWN = 4;

// k(x, z) of two rows by their dot product or their squared distance.
const kernel = (of, dots) => ({inputs: [[]], dots, rank: null, k: ([A], [B]) => (i, j) => of(A.rows, i * A.width, B.rows, j * B.width, A.width)});
const cubic = kernel((x, i, z, j, width) => { let s = 0; for (let t = 0; t < width; t++) s += x[i + t] * z[j + t]; return M.power(s + 1, 3); }, true);
const gaussian = kernel((x, i, z, j, width) => { let s = 0; for (let t = 0; t < width; t++) { const u = x[i + t] - z[j + t]; s += u * u; } return Math.exp(-.125 * s); }, false);

// --- tangent distance -----------------------------------------------------------------------------------

// A Gaussian of width 1 and its slope, over −4 to 4; beyond the border the image is mirrored.
const REACH = 4, BELL = Float64Array.from({length: 2 * REACH + 1}, (_, i) => Math.exp(-.5 * (i - REACH) ** 2)), TOTAL = BELL.reduce((a, b) => a + b, 0);
const BLUR = BELL.map((v) => v / TOTAL), SLOPE = BLUR.map((v, i) => v * (i - REACH));
const mirrored = (i) => i < 0 ? -1 - i : i >= SIDE ? 2 * SIDE - 1 - i : i;
function filtered(image, weights, across) {
  const out = new Float64Array(PIXELS);
  for (let y = 0; y < SIDE; y++) for (let x = 0; x < SIDE; x++) for (let k = -REACH; k <= REACH; k++) out[y * SIDE + x] += weights[k + REACH] * image[across ? y * SIDE + mirrored(x + k) : mirrored(y + k) * SIDE + x];
  return out;
}

// ∂image/∂(right, down, turned, larger, wider than high, along a diagonal, thicker).
function tangents(image) {
  const right = filtered(filtered(image, BLUR, false), SLOPE, true).map((v) => -v), down = filtered(filtered(image, BLUR, true), SLOPE, false).map((v) => -v), half = (SIDE - 1) / 2;
  const field = (of) => Float64Array.from({length: PIXELS}, (_, i) => of(i % SIDE - half, Math.floor(i / SIDE) - half, right[i], down[i]));
  return [right, down, field((x, y, r, d) => y * r - x * d), field((x, y, r, d) => x * r + y * d), field((x, y, r, d) => x * r - y * d), field((x, y, r, d) => y * r + x * d), field((x, y, r, d) => r * r + d * d)];
}

const dot = (a, b) => { let sum = 0; for (let i = 0; i < PIXELS; i++) sum += a[i] * b[i]; return sum; };

// An image and an orthonormal basis of its tangents: their vectors, and the image's products with all of them.
function plane(image) {
  const T = tangents(image).map((v) => { const length = Math.sqrt(dot(v, v)) || 1; return v.map((u) => u / length); }), m = T.length;
  const {values, vectors: directions} = M.eigen(Float64Array.from({length: m * m}, (_, i) => dot(T[Math.floor(i / m)], T[i % m])), m);
  const basis = directions.map((way, k) => {
    const scale = values[k] > SHORTEST ** 2 * Math.max(values[0], 1e-300) ? 1 / Math.sqrt(values[k]) : 0;
    return Float64Array.from({length: PIXELS}, (_, i) => { let sum = 0; for (let t = 0; t < m; t++) sum += way[t] * T[t][i]; return scale * sum; });
  });
  const vectors = [image, ...basis];
  return {vectors, own: vectors.map((v) => dot(image, v))};
}

// min over a, b of ‖x + Aa − z − Bb‖² + s(‖a‖² + ‖b‖²): with u = Aᵀr, v = Bᵀr, M = AᵀB, e = 1 + s and r = x − z it is
// ‖r‖² − ‖u‖²/e − wᵀ(eI − MᵀM/e)⁻¹w, w = v − Mᵀu/e.
function apart(p, q) {
  const m = p.vectors.length - 1, e = 1 + SPRING, u = new Float64Array(m), w = new Float64Array(m), cross = new Float64Array(m * m), A = new Float64Array(m * m);
  let value = p.own[0] - 2 * dot(p.vectors[0], q.vectors[0]) + q.own[0];
  for (let a = 0; a < m; a++) {
    u[a] = p.own[a + 1] - dot(p.vectors[a + 1], q.vectors[0]);
    value -= u[a] * u[a] / e;
    for (let b = 0; b < m; b++) cross[a * m + b] = dot(p.vectors[a + 1], q.vectors[b + 1]);
  }
  for (let b = 0; b < m; b++) {
    w[b] = dot(p.vectors[0], q.vectors[b + 1]) - q.own[b + 1];
    for (let a = 0; a < m; a++) w[b] -= cross[a * m + b] * u[a] / e;
    for (let c = 0; c < m; c++) { let sum = 0; for (let a = 0; a < m; a++) sum += cross[a * m + b] * cross[a * m + c]; A[b * m + c] = (b === c ? e : 0) - sum / e; }
  }
  const L = M.cholesky(A, m);
  return L ? Math.max(0, value - M.forward(L, m, w).reduce((sum, v) => sum + v * v, 0)) : value;
}

// --- who says what ----------------------------------------------------------------------------------------

export class Judges {
  // `images`: rows of 64 numbers from 0 to 1; `labels`: a digit for each.
  constructor(images, labels) {
    const X = Float64Array.from(images), y = [...labels].map(Number), image = (i) => X.subarray(i * PIXELS, (i + 1) * PIXELS), learn = (k, learner, options) => L.learn(k, {learner, options, X, y, width: PIXELS, tol: 1e-6});
    Object.assign(this, {X, y, image, planes: y.map((_, i) => plane(image(i)))});
    this.learned = [["perceptron", "Perceptron", cubic, learn(cubic, "perceptron", {epochs: 10})], ["svm", "Support vectors", gaussian, learn(gaussian, "svm", {C: 10})]];
  }

  // The answers for all drawings, and for the first the images that spoke for and against, or lie nearest.
  answers(drawings) {
    const {y, image} = this, rows = drawings.length, Q = Float64Array.from(drawings.flat());
    const found = this.learned.map(([name, title, k, model]) => {
      const said = L.winners(model.scores(Q, rows), model.classes, rows), near = M.gram(k, M.prepared(k, Q.slice(0, PIXELS), PIXELS), model.points, 1, y.length), shares = model.shares(said[0]).map((a, i) => a * near[i]);
      const order = y.map((_, i) => i).filter((i) => shares[i]).sort((a, b) => shares[b] - shares[a]), chosen = [...order.slice(0, SHOWN), ...order.slice(-SHOWN).reverse()];
      return {name, title, said, voters: chosen.map((i) => ({label: y[i], weight: shares[i], image: image(i)}))};
    });
    const nearest = drawings.map((one) => {
      const here = plane(Float64Array.from(one)), far = this.planes.map((other) => apart(here, other));
      return M.neighbors(1, y.length, 2 * SHOWN, (_, j) => far[j])[0].map((i) => [i, Math.sqrt(far[i])]);
    });
    const vote = (near) => { const counts = new Array(10).fill(0); for (const [i] of near.slice(0, NEAR)) counts[y[i]]++; return counts.indexOf(Math.max(...counts)); };
    return [...found, {name: "tangent", title: "Tangent neighbors", said: nearest.map(vote), voters: nearest[0].map(([i, weight]) => ({label: y[i], weight, image: image(i)}))}];
  }
}
