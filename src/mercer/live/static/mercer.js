// Kernel machines in a page, for a few hundred points: what the library computes, in the same order.
// Matrices are Float64Array, row by row. Nothing here knows of a page.

// --- kernels -------------------------------------------------------------------------------------

export function power(u, n) {
  if (n < 0) return 1 / power(u, -n);
  let result = 1;
  for (let base = u; n; n = Math.floor(n / 2), base *= base) if (n % 2) result *= base;
  return result;
}

const compiled = new Map();

// k with its numbers: `source` was written by mercer.formula.javascript, `p` holds parameters by name.
export function kernel({text, inputs}, p) {
  if (!compiled.has(text)) compiled.set(text, new Function("power", `return ${text}`)(power));
  return {k: compiled.get(text)(p), inputs};
}

// Rows as the kernel reads them: one table per input, after the maps that act on single rows.
export function prepared({inputs}, X, width) {
  return inputs.map((steps) => steps.reduce(stepped, {rows: X, width, n: X.length / width}));
}

function stepped({rows, width, n}, [kind, given]) {
  if (kind === "nonnegative" && rows.some((v) => v < 0)) throw new Error(`${given} is defined for x ≥ 0 only`);
  if (kind === "nonnegative") return {rows, width, n};
  const wide = kind === "columns" ? given.length : kind === "matrix" ? given[0].length : width, out = new Float64Array(n * wide);
  for (let i = 0; i < n; i++) {
    const x = rows.slice(i * width, (i + 1) * width);
    let length = 1;
    if (kind === "unit") { const peak = Math.max(...x.map(Math.abs)) || 1; length = peak * Math.sqrt(x.reduce((sum, v) => sum + (v / peak) ** 2, 0)) || 1; }
    for (let j = 0; j < wide; j++) {
      out[i * wide + j] = kind === "columns" ? x[(given[j] + width) % width] : kind === "scale" ? x[j] / given[j]
        : kind === "unit" ? x[j] / length : x.reduce((sum, v, l) => sum + v * given[l][j], 0);
    }
  }
  return {rows: out, width: wide, n};
}

const sizeOf = (A, n) => A.length ? A[0].n : n;

// k between all rows of A and all of B, both prepared.
export function gram({k}, A, B, rows = sizeOf(A, 1), columns = sizeOf(B, 1)) {
  const out = new Float64Array(rows * columns), value = k(A, B);
  for (let i = 0, at = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[at++] = value(i, j);
  return out;
}

export function diagonal({k}, A, n = sizeOf(A, 1)) { const value = k(A, A); return Float64Array.from({length: n}, (_, i) => value(i, i)); }

// --- random orders: those of NumPy's RandomState --------------------------------------------------

export class Random {
  constructor(seed) {
    this.state = new Uint32Array(624);
    this.state[0] = seed;
    for (let i = 1; i < 624; i++) { const s = this.state[i - 1] ^ (this.state[i - 1] >>> 30); this.state[i] = Math.imul(1812433253, s) + i; }
    this.at = 624;
  }
  next() {
    const s = this.state;
    if (this.at === 624) {
      for (let i = 0; i < 624; i++) { const y = (s[i] & 0x80000000) | (s[(i + 1) % 624] & 0x7fffffff); s[i] = s[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0); }
      this.at = 0;
    }
    let y = s[this.at++];
    y ^= y >>> 11; y ^= (y << 7) & 0x9d2c5680; y ^= (y << 15) & 0xefc60000; y ^= y >>> 18;
    return y >>> 0;
  }
  permutation(n) {
    const order = Array.from({length: n}, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const mask = 2 ** (32 - Math.clz32(i)) - 1;
      let j;
      do j = (this.next() & mask) >>> 0; while (j > i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}

// --- perceptron ------------------------------------------------------------------------------------

const TIE = 8 * 2 ** -52;

// Every visit: `labels` are 0, 1, …; one output for two classes, else one per class. `dots`: the kernel
// is made of dot products, whose rounding is relative to ‖φ(x)‖ ‖φ(z)‖.
export function perceptron(K, labels, {epochs = 10, classes = Math.max(...labels) + 1, dots = false, seed = 0, shuffle = true, tie = "mistake"} = {}) {
  const n = labels.length, outputs = classes === 2 ? 1 : classes, random = new Random(seed), first = tie === "first";
  const norms = Float64Array.from({length: n}, (_, i) => 1.001 * Math.sqrt(Math.abs(K[i * n + i])));
  const scores = new Float64Array(n * outputs), sums = new Float64Array(n * outputs), reach = new Float64Array(outputs);
  const alpha = new Float64Array(n * outputs), late = new Float64Array(n * outputs);
  const index = [], epoch = [], update = [], norm = [], mistakes = [];
  let made = 0, squared = 0, converged = false;
  const size = (i, c) => dots ? norms[i] * reach[c] : sums[i * outputs + c];
  for (let pass = 1; pass <= epochs && !converged; pass++) {
    const before = made, order = shuffle ? random.permutation(n) : Array.from({length: n}, (_, i) => i);
    for (const i of order) {
      const f = scores.subarray(i * outputs, (i + 1) * outputs), u = new Float64Array(outputs), y = labels[i];
      if (outputs === 1) {
        const target = y === 1 ? 1 : -1, gap = target * f[0];
        if (Math.abs(gap) <= TIE * size(i, 0) ? !first || target > 0 : gap < 0) u[0] = target;
      } else {
        let rival = -1;
        for (let c = 0; c < outputs; c++) if (c !== y && (rival < 0 || f[c] > f[rival])) rival = c;
        const gap = f[y] - f[rival], within = TIE * (size(i, y) + size(i, rival));
        if (gap <= within) {
          for (let c = 0; c < rival; c++) if (c !== y && f[rival] - f[c] <= TIE * (size(i, c) + size(i, rival))) { rival = c; break; }
          if (!(Math.abs(gap) <= within && first && rival > y)) { u[y] = 1; u[rival] = -1; }
        }
      }
      if (u.some((v) => v)) {
        made++;
        for (let c = 0; c < outputs; c++) {
          if (!u[c]) continue;
          squared += 2 * u[c] * f[c] + K[i * n + i];
          alpha[i * outputs + c] += u[c]; late[i * outputs + c] += index.length * u[c];
          reach[c] += norms[i];
          for (let j = 0; j < n; j++) { const k = K[j * n + i]; scores[j * outputs + c] += u[c] * k; sums[j * outputs + c] += Math.abs(k); }
        }
      }
      index.push(i); epoch.push(pass); update.push(...u); norm.push(squared); mistakes.push(made);
    }
    converged = made === before;
  }
  const visits = index.length, average = alpha.map((a, i) => a - late[i] / visits);
  return {n, outputs, index: Int32Array.from(index), epoch: Int32Array.from(epoch), update: Float64Array.from(update), norm: Float64Array.from(norm),
    mistakes: Int32Array.from(mistakes), alpha, average, converged};
}

// Shares of the votes of all predictors so far, for the rows of K against the training points.
export function votes(K, found, visits = found.index.length) {
  const {n, outputs} = found, rows = K.length / n, out = new Float64Array(rows * outputs);
  for (let r = 0; r < rows; r++) {
    const f = new Float64Array(outputs);
    let since = 0;
    const count = (until) => {
      if (outputs === 1) out[r] += f[0] > 0 ? until - since : since - until;
      else out[r * outputs + winner(f, 0, outputs)] += until - since;
      since = until;
    };
    for (let t = 0; t < visits; t++) {
      const u = found.update.subarray(t * outputs, (t + 1) * outputs);
      if (!u.some((v) => v)) continue;
      count(t);
      for (let c = 0; c < outputs; c++) f[c] += u[c] * K[r * n + found.index[t]];
    }
    count(visits);
  }
  return out.map((v) => v / Math.max(1, visits));
}

export function winner(values, start, outputs) {
  let best = 0;
  for (let c = 1; c < outputs; c++) if (values[start + c] > values[start + best]) best = c;
  return best;
}

// --- linear algebra --------------------------------------------------------------------------------

// L with LLᵀ = A, in place of the lower half; null where A is not positive definite.
export function cholesky(A, n) {
  const L = A.slice();
  for (let j = 0; j < n; j++) {
    for (let i = j; i < n; i++) {
      let sum = L[i * n + j];
      for (let k = 0, a = i * n, b = j * n; k < j; k++) sum -= L[a + k] * L[b + k];
      if (i > j) { L[i * n + j] = sum / L[j * n + j]; continue; }
      if (!(sum > 0)) return null;
      L[j * n + j] = Math.sqrt(sum);
    }
  }
  return L;
}

export function forward(L, n, b) {
  const x = b.slice();
  for (let i = 0; i < n; i++) { let sum = x[i]; for (let k = 0; k < i; k++) sum -= L[i * n + k] * x[k]; x[i] = sum / L[i * n + i]; }
  return x;
}

export function solved(L, n, b) {
  const x = forward(L, n, b);
  for (let i = n - 1; i >= 0; i--) { x[i] /= L[i * n + i]; for (let k = 0; k < i; k++) x[k] -= L[i * n + k] * x[i]; }
  return x;
}

// A solver of Ax = b for symmetric A: by Cholesky, or by elimination where A is indefinite.
export function factored(A, n) {
  const L = cholesky(A, n);
  return L ? (b) => solved(L, n, b) : eliminated(A, n);
}

// The same by elimination with pivots, for any A.
function eliminated(A, n) {
  const M = A.slice(), order = Array.from({length: n}, (_, i) => i);
  for (let j = 0; j < n; j++) {
    let p = j;
    for (let i = j + 1; i < n; i++) if (Math.abs(M[order[i] * n + j]) > Math.abs(M[order[p] * n + j])) p = i;
    [order[j], order[p]] = [order[p], order[j]];
    const pivot = M[order[j] * n + j];
    if (!pivot) throw new Error("the equations have no single solution: a larger λ gives them one");
    for (let i = j + 1; i < n; i++) {
      const row = order[i] * n, factor = M[row + j] /= pivot;
      for (let k = j + 1; k < n; k++) M[row + k] -= factor * M[order[j] * n + k];
    }
  }
  return (b) => {
    const x = new Float64Array(n);
    for (let i = 0; i < n; i++) { x[i] = b[order[i]]; for (let k = 0; k < i; k++) x[i] -= M[order[i] * n + k] * x[k]; }
    for (let i = n - 1; i >= 0; i--) { for (let k = i + 1; k < n; k++) x[i] -= M[order[i] * n + k] * x[k]; x[i] /= M[order[i] * n + i]; }
    return x;
  };
}

export function times(K, rows, v) {
  const n = v.length, out = new Float64Array(rows);
  for (let i = 0; i < rows; i++) { let sum = 0; for (let j = 0, at = i * n; j < n; j++) sum += K[at + j] * v[j]; out[i] = sum; }
  return out;
}

const sum = (v) => v.reduce((a, b) => a + b, 0);

// Eigenvalues from the largest, and eigenvectors as rows, of a symmetric matrix: Householder, then QL.
export function eigen(A, n) {
  const V = A.slice(), d = new Float64Array(n), e = new Float64Array(n), at = (i, j) => i * n + j;
  for (let i = n - 1; i > 0; i--) {
    let scale = 0, h = 0;
    for (let k = 0; k < i; k++) scale += Math.abs(V[at(i, k)]);
    if (i === 1 || !scale) { e[i] = V[at(i, i - 1)]; d[i] = 0; continue; }
    for (let k = 0; k < i; k++) { V[at(i, k)] /= scale; h += V[at(i, k)] ** 2; }
    const f = V[at(i, i - 1)], g = f >= 0 ? -Math.sqrt(h) : Math.sqrt(h);
    e[i] = scale * g; h -= f * g; V[at(i, i - 1)] = f - g;
    let total = 0;
    for (let j = 0; j < i; j++) {
      V[at(j, i)] = V[at(i, j)] / h;
      let part = 0;
      for (let k = 0; k <= j; k++) part += V[at(j, k)] * V[at(i, k)];
      for (let k = j + 1; k < i; k++) part += V[at(k, j)] * V[at(i, k)];
      e[j] = part / h; total += e[j] * V[at(i, j)];
    }
    const hh = total / (2 * h);
    for (let j = 0; j < i; j++) {
      const u = V[at(i, j)], w = e[j] -= hh * u;
      for (let k = 0; k <= j; k++) V[at(j, k)] -= u * e[k] + w * V[at(i, k)];
    }
    d[i] = h;
  }
  d[0] = e[0] = 0;
  for (let i = 0; i < n; i++) {
    if (d[i]) for (let j = 0; j < i; j++) {
      let g = 0;
      for (let k = 0; k < i; k++) g += V[at(i, k)] * V[at(k, j)];
      for (let k = 0; k < i; k++) V[at(k, j)] -= g * V[at(k, i)];
    }
    d[i] = V[at(i, i)]; V[at(i, i)] = 1;
    for (let j = 0; j < i; j++) V[at(j, i)] = V[at(i, j)] = 0;
  }
  // Rows are turned, not columns: they lie together in memory.
  const T = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) T[at(j, i)] = V[at(i, j)];
  for (let i = 1; i < n; i++) e[i - 1] = e[i];
  e[n - 1] = 0;
  for (let l = 0; l < n; l++) {
    for (let round = 0; round < 60; round++) {
      let m = l;
      while (m < n - 1 && Math.abs(e[m]) > 2 ** -52 * (Math.abs(d[m]) + Math.abs(d[m + 1]))) m++;
      if (m === l) break;
      let g = (d[l + 1] - d[l]) / (2 * e[l]), r = Math.hypot(g, 1), s = 1, c = 1, p = 0, i = m - 1;
      g = d[m] - d[l] + e[l] / (g + (g >= 0 ? r : -r));
      for (; i >= l; i--) {
        const f = s * e[i], b = c * e[i];
        r = e[i + 1] = Math.hypot(f, g);
        if (!r) { d[i + 1] -= p; e[m] = 0; break; }
        s = f / r; c = g / r; g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r; d[i + 1] = g + p; g = c * r - b;
        for (let k = 0, a = i * n, q = (i + 1) * n; k < n; k++, a++, q++) { const w = T[q]; T[q] = s * T[a] + c * w; T[a] = c * T[a] - s * w; }
      }
      if (!r && i >= l) continue;
      d[l] -= p; e[l] = g; e[m] = 0;
    }
  }
  const order = Array.from({length: n}, (_, i) => i).sort((a, b) => d[b] - d[a]);
  return {values: Float64Array.from(order, (i) => d[i]), vectors: order.map((i) => T.slice(i * n, (i + 1) * n))};
}

// --- learners: each gives coefficients and b, one list per output -----------------------------------

// ±1 for each output: one for two classes, else one per class.
export function targets(labels, classes) {
  const wanted = classes === 2 ? [1] : Array.from({length: classes}, (_, c) => c);
  return wanted.map((c) => Float64Array.from(labels, (y) => y === c ? 1 : -1));
}

export function ridge(K, T, alpha, intercept = true) {
  const n = T[0].length, A = K.slice();
  for (let i = 0; i < n; i++) A[i * n + i] += alpha;
  const solve = factored(A, n), one = intercept ? solve(new Float64Array(n).fill(1)) : null;
  const found = T.map((t) => { const u = solve(t), b = intercept ? sum(u) / sum(one) : 0; return {coef: intercept ? u.map((v, i) => v - b * one[i]) : u, b}; });
  return {coef: found.map((f) => f.coef), b: found.map((f) => f.b), solve};
}

// Gaussian process with noise of a given variance: the mean's coefficients, the variance at rows of k, log p(t).
export function process(K, t, noise) {
  const n = t.length, A = K.slice();
  for (let i = 0; i < n; i++) A[i * n + i] += noise;
  const L = cholesky(A, n);
  if (!L) throw new Error("K has an eigenvalue below 0: k is no kernel");
  const coef = solved(L, n, t);
  let evidence = -.5 * n * Math.log(2 * Math.PI);
  for (let i = 0; i < n; i++) evidence -= .5 * t[i] * coef[i] + Math.log(L[i * n + i]);
  return {coef: [coef], b: [0], evidence, variance: (row, own) => Math.max(0, own - sum(forward(L, n, row).map((v) => v * v)))};
}

// Support vectors by sequential minimal optimization, pairs by second-order gain; t is ±1.
export function svm(K, t, C, tol = 1e-3, most = 1e6) {
  const n = t.length, alpha = new Float64Array(n), G = new Float64Array(n).fill(-1);
  for (let round = 0; round < most; round++) {
    let i = -1, up = -Infinity, low = Infinity, j = -1, gain = 0;
    for (let k = 0; k < n; k++) if (t[k] > 0 ? alpha[k] < C : alpha[k] > 0) if (-t[k] * G[k] > up) { up = -t[k] * G[k]; i = k; }
    for (let k = 0; k < n; k++) {
      if (!(t[k] > 0 ? alpha[k] > 0 : alpha[k] < C)) continue;
      const v = -t[k] * G[k];
      if (v < low) low = v;
      if (i >= 0 && v < up) {
        const a = Math.max(1e-12, K[i * n + i] + K[k * n + k] - 2 * K[i * n + k]), g = (up - v) ** 2 / a;
        if (g > gain) { gain = g; j = k; }
      }
    }
    if (i < 0 || j < 0 || up - low <= tol) break;
    const a = Math.max(1e-12, K[i * n + i] + K[j * n + j] - 2 * K[i * n + j]), room = (k, s) => (s > 0 ? C - alpha[k] : alpha[k]);
    const free = (up + t[j] * G[j]) / a, si = t[i], sj = -t[j], step = Math.min(free, room(i, si), room(j, sj));
    if (!(step > 0)) break;
    alpha[i] = step === room(i, si) ? (si > 0 ? C : 0) : alpha[i] + si * step;
    alpha[j] = step === room(j, sj) ? (sj > 0 ? C : 0) : alpha[j] + sj * step;
    for (let k = 0; k < n; k++) G[k] += step * t[k] * (K[k * n + i] - K[k * n + j]);
  }
  let free = 0, total = 0, high = Infinity, low = -Infinity;
  for (let k = 0; k < n; k++) {
    const v = t[k] * G[k];
    const least = alpha[k] <= 1e-12 * C;   // what rounding leaves beside a bound is at the bound
    if (!least && alpha[k] < (1 - 1e-12) * C) { free++; total += v; }
    else if (least === (t[k] > 0)) high = Math.min(high, v); else low = Math.max(low, v);
  }
  return {coef: [alpha.map((a, k) => a * t[k])], b: [-(free ? total / free : (high + low) / 2)]};
}

// Newton's method for Σ log(1 + e^(−t f)) + α/2 aᵀKa with f = Ka + b; without b where `intercept` is false.
export function logistic(K, t, alpha, intercept = true, close = 1e-12) {
  const n = t.length, softplus = (v) => v > 0 ? v + Math.log1p(Math.exp(-v)) : Math.log1p(Math.exp(v));
  let a = new Float64Array(n), f = new Float64Array(n), b = 0, L, root;
  const objective = (a, f, b) => { let value = 0; for (let i = 0; i < n; i++) value += softplus(-t[i] * f[i]) + alpha / 2 * a[i] * (f[i] - b); return value; };
  let value = objective(a, f, b);
  for (let round = 0; round < 100; round++) {
    root = f.map((v) => Math.max(1e-150, 1 / (Math.exp(v / 2) + Math.exp(-v / 2))));
    const B = new Float64Array(n * n);
    for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) B[i * n + j] = root[i] * K[i * n + j] * root[j] / alpha + (i === j);   // its lower half is read
    L = cholesky(B, n);
    if (!L) throw new Error("K has an eigenvalue below 0: k is no kernel");
    const inverse = (v) => solved(L, n, v).map((u, i) => root[i] * u / alpha);   // (K + α W⁻¹)⁻¹ W^−½ v
    const u = inverse(f.map((v, i) => root[i] * v + t[i] * Math.exp(Math.min(300, -t[i] * v / 2)))), one = intercept ? inverse(root) : null;
    const nextB = intercept ? sum(u) / sum(one) : 0, next = intercept ? u.map((v, i) => v - nextB * one[i]) : u, there = times(K, n, next).map((v) => v + nextB);
    let step = 1, moved = 0, best = null;
    for (; step > 1e-10; step /= 2) {
      const mix = (p, q) => p + step * (q - p), trial = {a: a.map((v, i) => mix(v, next[i])), f: f.map((v, i) => mix(v, there[i])), b: mix(b, nextB)};
      trial.value = objective(trial.a, trial.f, trial.b);
      if (trial.value <= value * (1 + 1e-13)) { best = trial; break; }
    }
    if (!best) break;
    for (let i = 0; i < n; i++) moved = Math.max(moved, Math.abs(best.f[i] - f[i]) / (1 + Math.abs(best.f[i])));
    ({a, f, b, value} = best);
    if (moved < close) break;
  }
  const variance = (row, own) => Math.max(0, own - sum(forward(L, n, row.map((v, i) => v * root[i])).map((v) => v * v)) / alpha);
  return {coef: [a], b: [b], variance};
}

// Several classes at once: Σ log-loss of the softmax + α/2 Σ aᵀKa, by Newton's method on all coefficients and offsets.
export function softmax(K, labels, classes, alpha) {
  const n = labels.length, N = n * classes, size = N + classes;
  let a = new Float64Array(N), b = new Float64Array(classes), value = Infinity;
  const at = (a, b) => {
    const f = Array.from({length: classes}, (_, c) => times(K, n, a.subarray(c * n, (c + 1) * n))), p = f.map(() => new Float64Array(n));
    let total = 0;
    for (let i = 0; i < n; i++) {
      const top = Math.max(...f.map((g, c) => g[i] + b[c])), e = f.map((g, c) => Math.exp(g[i] + b[c] - top)), z = sum(e);
      total += top + Math.log(z) - f[labels[i]][i] - b[labels[i]];
      for (let c = 0; c < classes; c++) { p[c][i] = e[c] / z; total += alpha / 2 * a[c * n + i] * f[c][i]; }
    }
    return {f, p, value: total};
  };
  let here = at(a, b);
  for (let round = 0; round < 60; round++) {
    // (α + (D − ppᵀ) K) a' + (D − ppᵀ) b' = (D − ppᵀ) f + y − p, and Σ a' = 0 for each class.
    const A = new Float64Array(size * size), right = new Float64Array(size), {f, p} = here;
    for (let c = 0; c < classes; c++) for (let i = 0; i < n; i++) {
      const row = (c * n + i) * size;
      right[c * n + i] = (labels[i] === c ? 1 : 0) - p[c][i];
      for (let d = 0; d < classes; d++) {
        const w = p[c][i] * ((c === d ? 1 : 0) - p[d][i]);
        for (let j = 0; j < n; j++) A[row + d * n + j] = w * K[i * n + j];
        A[row + N + d] = w;
        right[c * n + i] += w * (f[d][i] + b[d]);
      }
      A[row + c * n + i] += alpha;
      A[(N + c) * size + c * n + i] = 1;
    }
    for (let c = 0; c < classes; c++) for (let d = 0; d < classes; d++) A[(N + c) * size + N + d] = 1;   // the sum of the offsets is free: it is 0
    const next = eliminated(A, size)(right);
    let step = 1, trial = null, moved = 0;
    for (; step > 1e-9; step /= 2) {
      const mix = (p, q) => p + step * (q - p), a2 = a.map((v, i) => mix(v, next[i])), b2 = b.map((v, i) => mix(v, next[N + i])), there = at(a2, b2);
      if (there.value <= here.value * (1 + 1e-13)) { trial = {a: a2, b: b2, there}; break; }
    }
    if (!trial) break;
    for (let i = 0; i < N; i++) moved = Math.max(moved, Math.abs(trial.there.f[Math.floor(i / n)][i % n] - f[Math.floor(i / n)][i % n]));
    for (let c = 0; c < classes; c++) moved = Math.max(moved, Math.abs(trial.b[c] - b[c]));
    ({a, b} = trial); here = trial.there;
    if (moved < 1e-12 * (1 + Math.abs(here.value))) break;
  }
  return {coef: Array.from({length: classes}, (_, c) => a.slice(c * n, (c + 1) * n)), b: [...b]};
}

// The mean of each class in feature space: ⟨φ(x), m⟩ − ‖m‖²/2, for two classes the difference.
export function centroid(K, labels, classes) {
  const n = labels.length, found = Array.from({length: classes}, (_, c) => {
    const count = labels.filter((y) => y === c).length, coef = Float64Array.from(labels, (y) => y === c ? 1 / count : 0);
    return {coef, b: -.5 * sum(times(K, n, coef).map((v, i) => v * coef[i]))};
  });
  if (classes !== 2) return {coef: found.map((f) => f.coef), b: found.map((f) => f.b)};
  return {coef: [found[1].coef.map((v, i) => v - found[0].coef[i])], b: [found[1].b - found[0].b]};
}

// Σ coef k + b for rows of K: one list per output.
export function expanded({coef, b}, K, rows) { return coef.map((a, o) => times(K, rows, a).map((v) => v + b[o])); }

// Weighted means of targets at rows of K, with their variance and Σw²/(Σw)²; `nearest(i)` answers where all weights are 0.
export function smoothed(K, rows, t, nearest) {
  const n = t.length, mean = new Float64Array(rows), variance = new Float64Array(rows), share = new Float64Array(rows);
  for (let i = 0; i < rows; i++) {
    let w = 0, wt = 0, ww = 0, spread = 0;
    for (let j = 0; j < n; j++) { const k = K[i * n + j]; if (k < 0) throw new Error("weights must not be negative: this kernel is no smoother"); w += k; wt += k * t[j]; ww += k * k; }
    if (!(w > 0)) { mean[i] = t[nearest(i)]; share[i] = 1; continue; }
    mean[i] = wt / w; share[i] = ww / (w * w);
    for (let j = 0; j < n; j++) spread += K[i * n + j] * (t[j] - mean[i]) ** 2;
    variance[i] = spread / w;
  }
  return {mean, variance, share};
}

// A line around each query of one column, by weights: its value, slope, the local variance and the leverage.
export function lines(K, q, x, t) {
  const n = x.length, rows = q.length, out = {mean: new Float64Array(rows), slope: new Float64Array(rows), variance: new Float64Array(rows), share: new Float64Array(rows)};
  for (let i = 0; i < rows; i++) {
    let w = 0, xm = 0, tm = 0, xx = 0, xt = 0, rest = 0, square = 0;
    for (let j = 0; j < n; j++) { const k = K[i * n + j]; w += k; xm += k * x[j]; tm += k * t[j]; }
    xm /= w; tm /= w;
    for (let j = 0; j < n; j++) { const k = K[i * n + j], u = x[j] - xm; xx += k * u * u; xt += k * u * (t[j] - tm); }
    const slope = xx > 1e-14 * w ? xt / xx : 0, value = tm + slope * (q[i] - xm);
    for (let j = 0; j < n; j++) {
      const k = K[i * n + j], l = k / w + (xx > 1e-14 * w ? (q[i] - xm) * k * (x[j] - xm) / xx : 0);
      square += l * l; rest += k * (t[j] - tm - slope * (x[j] - xm)) ** 2;
    }
    out.mean[i] = value; out.slope[i] = slope; out.variance[i] = rest / w; out.share[i] = square;
  }
  return out;
}

// The m nearest training points of each row, by `apart(i, j)`; of equal ones the first.
export function neighbors(rows, n, m, apart) {
  return Array.from({length: rows}, (_, i) => {
    const near = [];
    for (let j = 0; j < n; j++) {
      const d = apart(i, j);
      if (near.length === m && d >= near[m - 1][0]) continue;
      let at = near.length;
      while (at > 0 && near[at - 1][0] > d) at--;
      near.splice(at, 0, [d, j]);
      if (near.length > m) near.pop();
    }
    return near.map(([, j]) => j);
  });
}

// Coordinates along the first axes of the points in feature space; their signs are arbitrary.
export function kernelPCA(K, n, components) {
  const means = times(K, n, new Float64Array(n).fill(1 / n)), all = sum(means) / n, centered = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) centered[i * n + j] = K[i * n + j] - means[i] - means[j] + all;
  const {values, vectors} = eigen(centered, n), places = new Float64Array(n * components);
  for (let c = 0; c < Math.min(components, n); c++) for (let i = 0; i < n; i++) places[i * components + c] = vectors[c][i] * Math.sqrt(Math.max(0, values[c]));
  return {places, values};
}
