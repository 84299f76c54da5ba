// The learners of the laboratory on `mercer.js`: a state in, a model that scores any points out.
import * as M from "./mercer.js";

const AVERAGES = {perceptron: "last", averaged: "average", voted: "vote", walk: "last"};
export const GIVES = {logistic: "log-odds", process: "log-odds", smoother: "share", neighbors: "share", voted: "share"};

// The kernel of a state with its numbers: whole ones that shape the formula choose among the sources.
export function kernelOf({sources, numbers, parameters}, values) {
  const p = {...parameters}, key = [];
  numbers.forEach((number, i) => { if (number.shapes) key.push(values[i]); else p[number.path] = number.law[0] * values[i] ** number.law[1]; });
  const source = sources[key.join()];
  return {...M.kernel(source, p), dots: source.dots, rank: source.rank && {...M.kernel(source.rank, p), sign: source.rank.sign}};
}

// Scores are lists, one per output: one for two classes (positive: the second), else one per class.
export function learn(kernel, {learner, options, X, y, width = 2, tol = 1e-3}) {
  const classes = [...new Set(y)].sort((a, b) => a - b), labels = Array.from(y, (c) => classes.indexOf(c)), n = labels.length, count = classes.length;
  if (count < 2) throw new Error("draw points of two classes at least");
  const scaled = learner === "process" ? {...kernel, k: (A, B) => { const value = kernel.k(A, B); return (i, j) => options.variance * value(i, j); }} : kernel;
  const points = M.prepared(scaled, X, width), K = M.gram(scaled, points, points, n, n);
  const against = (Q, rows) => Q === X ? K : M.gram(scaled, M.prepared(scaled, Q, width), points, rows, n);
  const base = {classes, labels, n, K, X, kernel: scaled, points, outputs: count === 2 ? 1 : count, gives: GIVES[learner] ?? "score", against, learner};
  // Scores as sums over the points with α ≠ 0; a perceptron and a support vector machine have few.
  const summed = (model) => {
    const kept = labels.flatMap((_, i) => model.coef.some((c) => c[i]) ? [i] : []), few = {coef: model.coef.map((c) => Float64Array.from(kept, (i) => c[i])), b: model.b};
    const part = M.prepared(scaled, Float64Array.from(kept.flatMap((i) => Array.from({length: width}, (_, t) => X[i * width + t]))), width);
    return (Q, rows) => Q === X ? M.expanded(model, K, rows) : M.expanded(few, M.gram(scaled, M.prepared(scaled, Q, width), part, rows, kept.length), rows);
  };
  const byVotes = (rows, weight) => {
    const out = Array.from({length: count}, () => new Float64Array(rows));
    for (let i = 0; i < rows; i++) weight(i, (j, w) => { out[labels[j]][i] += w; });
    return count === 2 ? [out[1].map((v, i) => v - out[0][i])] : out;
  };
  if (learner in AVERAGES) {
    const byHand = learner === "walk" ? {shuffle: false, tie: "first"} : options.visits;
    const trace = M.perceptron(K, labels, {epochs: options.epochs, classes: count, dots: kernel.dots, ...byHand}), kind = AVERAGES[learner];
    const flat = kind === "average" ? trace.average : trace.alpha, coef = Array.from({length: trace.outputs}, (_, o) => flat.filter((_, i) => i % trace.outputs === o));
    const model = {coef, b: coef.map(() => 0)};
    const voted = (Q, rows) => { const v = M.votes(against(Q, rows), trace); return Array.from({length: trace.outputs}, (_, o) => v.filter((_, i) => i % trace.outputs === o)); };
    return {...base, shares: (c) => coef[classes.indexOf(c)], trace, averaging: kind, coef, scores: kind === "vote" ? voted : summed(model)};
  }
  if (learner === "smoother") {
    return {...base, scores: (Q, rows) => {
      const k = against(Q, rows), apart = ranked(base, kernel, Q, rows, width), nearest = (i) => M.neighbors(1, n, 1, (_, j) => apart(i, j))[0][0];
      return byVotes(rows, (i, vote) => {
        let total = 0;
        for (let j = 0; j < n; j++) { if (k[i * n + j] < 0) throw new Error("This kernel has negative values: they are no weights of a mean."); total += k[i * n + j]; }
        if (total > 0) for (let j = 0; j < n; j++) vote(j, k[i * n + j] / total); else vote(nearest(i), 1);
      });
    }};
  }
  if (learner === "neighbors") {
    const m = options.n_neighbors;
    if (m > n) throw new Error(`${m} neighbors need as many points; there are ${n}`);
    return {...base, scores: (Q, rows) => { const near = M.neighbors(rows, n, m, ranked(base, kernel, Q, rows, width)); return byVotes(rows, (i, vote) => near[i].forEach((j) => vote(j, 1 / m))); }};
  }
  const model = fitted(learner, K, labels, count, options, tol);
  const sums = summed(model);
  return {...base, parts: model.coef, shares: (c) => toward(model, classes.indexOf(c), n), coef: model.pairs ? null : model.coef, b: model.b, variance: model.variance, scores: (Q, rows) => {
    const values = sums(Q, rows);
    return model.pairs ? ballots(values, model.pairs, count, rows) : values;
  }};
}

// What each point counts for class c among several: by pairs, for the second of a pair where α is positive.
function toward({coef, pairs}, c, n) {
  const out = new Float64Array(n);
  if (!pairs) return coef[c];
  pairs.forEach(([a, b], k) => { if (a === c || b === c) for (let i = 0; i < n; i++) out[i] += b === c ? coef[k][i] : -coef[k][i]; });
  return out;
}

function fitted(learner, K, labels, count, options, tol) {
  if (learner === "ridge") return M.ridge(K, M.targets(labels, count), options.alpha);
  if (learner === "centroid") return M.centroid(K, labels, count);
  const T = M.targets(labels, count), joined = (found) => ({coef: found.flatMap((f) => f.coef), b: found.flatMap((f) => f.b), variance: (row, own) => found.map((f) => f.variance?.(row, own))});
  const close = Math.max(1e-12, 1e-3 * tol);
  if (learner === "process") return joined(T.map((t) => M.logistic(K, t, 1, false, close)));
  if (learner === "logistic") { if (count > 2) return M.softmax(K, labels, count, options.alpha); return joined(T.map((t) => M.logistic(K, t, options.alpha, true, close))); }
  if (learner !== "svm") throw new Error(`there is no learner ${learner} in this page`);
  if (count === 2) return M.svm(K, T[0], options.C, tol);
  const pairs = [], found = [], n = labels.length;
  for (let a = 0; a < count; a++) for (let b = a + 1; b < count; b++) {
    const rows = labels.flatMap((c, i) => c === a || c === b ? [i] : []), m = rows.length, part = new Float64Array(m * m);
    rows.forEach((i, r) => rows.forEach((j, s) => { part[r * m + s] = K[i * n + j]; }));
    const one = M.svm(part, Float64Array.from(rows, (i) => labels[i] === b ? 1 : -1), options.C, tol), coef = new Float64Array(n);
    rows.forEach((i, r) => { coef[i] = one.coef[0][r]; });
    pairs.push([a, b]); found.push({coef: [coef], b: one.b});
  }
  return {...joined(found), pairs};
}

// Votes of the pairs, and within equal votes the sum of scores, squeezed into (−1/3, 1/3).
function ballots(values, pairs, count, rows) {
  const votes = Array.from({length: count}, () => new Float64Array(rows)), sums = votes.map((v) => v.slice());
  pairs.forEach(([a, b], k) => { for (let i = 0; i < rows; i++) { const f = -values[k][i]; votes[f > 0 ? a : b][i]++; sums[a][i] += f; sums[b][i] -= f; } });
  return votes.map((v, c) => v.map((w, i) => w + sums[c][i] / (3 * (Math.abs(sums[c][i]) + 1))));
}

// How far point j is from row i of Q: by the statistic that k falls with where there is one, else in feature space.
function ranked(base, kernel, Q, rows, width) {
  const own = base.points[0] ? M.diagonal(base.kernel, base.points, base.n) : new Float64Array(base.n), flat = own.every((v) => Math.abs(v - own[0]) <= 1e-14 * Math.abs(own[0]));
  const rank = kernel.rank;
  if (rank && (flat || rank.linear)) { const value = rank.k(M.prepared(rank, Q, width), M.prepared(rank, base.X, width)); return (i, j) => -rank.sign * value(i, j); }
  const k = base.against(Q, rows);
  return flat ? (i, j) => -k[i * base.n + j] : (i, j) => own[j] - 2 * k[i * base.n + j];
}

export function winners(scores, classes, rows) {
  return Array.from({length: rows}, (_, i) => {
    if (scores.length === 1) return classes[scores[0][i] > 0 ? 1 : 0];
    return classes[scores.reduce((best, s, c) => s[i] > scores[best][i] ? c : best, 0)];
  });
}

export const wrong = (answers, y) => answers.filter((c, i) => c !== y[i]).length / y.length;

// The error on points left out, by the five folds of the library (seed 0); null where a fold cannot be learned from.
export function leftOut(kernel, state) {
  let missed = 0;
  try {
    for (const {train, held} of folds(state)) {
      const model = learn(kernel, train), rows = held.y.length;
      winners(model.scores(held.X, rows), model.classes, rows).forEach((c, r) => { missed += c !== held.y[r]; });
    }
  } catch { return null; }
  return missed / state.y.length;
}

function folds(state, most = 5) {
  const {X, y, width = 2} = state, n = y.length, order = new M.Random(0).permutation(n), cuts = Math.min(most, n), of = (list) => ({X: Float64Array.from(list.flatMap((i) => Array.from({length: width}, (_, t) => X[i * width + t]))), y: list.map((i) => y[i])});
  let start = 0;
  return Array.from({length: cuts}, (_, f) => {
    const held = new Set(order.slice(start, start += Math.floor(n / cuts) + (f < n % cuts))), rows = (inside) => y.flatMap((_, i) => held.has(i) === inside ? [i] : []);
    return {train: {...state, ...of(rows(false))}, held: of(rows(true))};
  });
}

// The share of wrong answers after every visit of a perceptron, by the predictor that is shown then; `K` has a row for
// each point that is asked.
function course({trace, averaging, classes}, K, y) {
  const {n, outputs, index, update} = trace, rows = y.length, last = new Float64Array(rows * outputs), total = last.slice(), out = new Float64Array(index.length), answers = y.map((c) => classes.indexOf(c));
  const lead = (f, r) => outputs === 1 ? (f[r] > 0 ? 1 : 0) : M.winner(f, r * outputs, outputs);
  for (let t = 0, wrong = 1; t < index.length; t++) {
    const u = update.subarray(t * outputs, (t + 1) * outputs), moved = u.some((v) => v);
    if (moved) for (let r = 0; r < rows; r++) for (let o = 0; o < outputs; o++) last[r * outputs + o] += u[o] * K[r * n + index[t]];
    if (averaging === "average") for (let i = 0; i < last.length; i++) total[i] += last[i];
    if (averaging === "vote") for (let r = 0; r < rows; r++) if (outputs === 1) total[r] += last[r] > 0 ? 1 : -1; else total[r * outputs + lead(last, r)]++;
    if (moved || averaging !== "last" || !t) { wrong = 0; for (let r = 0; r < rows; r++) if (lead(averaging === "last" ? last : total, r) !== answers[r]) wrong++; }
    out[t] = wrong / rows;
  }
  return out;
}

// The errors over the visits: in training, on points left out by five folds after the same share of their visits, on new points.
export function courses(kernel, state, model, test) {
  const {y} = state, n = y.length, left = new Float64Array(model.trace.index.length), fresh = test && course(model, model.against(test.X, test.y.length), test.y);
  try {
    for (const {train, held} of folds(state)) {
      const part = learn(kernel, train), path = course(part, part.against(held.X, held.y.length), held.y);
      for (let t = 0; t < left.length; t++) left[t] += path[Math.ceil((t + 1) * path.length / left.length) - 1] * held.y.length / n;
    }
  } catch { return {training: course(model, model.K, y), fresh}; }   // a fold without one of the classes
  return {training: course(model, model.K, y), left, fresh};
}

// --- curves on a line --------------------------------------------------------------------------------

const NORMAL = 1.959963984540054;   // half of a band of 95 %

export function curve(kernel, {learner, options, x, y}, grid) {
  const h = options.bandwidth ?? 1, rows = grid.length, n = x.length, scale = (v) => Float64Array.from(v, (u) => u / h);
  const A = M.prepared(kernel, scale(grid), 1), B = M.prepared(kernel, scale(x), 1), K = M.gram(kernel, A, B, rows, n);
  if (learner === "ridge") {
    const G = M.gram(kernel, B, B, n, n), model = M.ridge(G, [Float64Array.from(y)], options.alpha, Boolean(options.intercept)), mean = M.expanded(model, K, rows)[0], weights = (i) => model.coef[0].map((a, j) => a * K[i * n + j]);
    if (options.intercept) return {mean, half: new Float64Array(rows), weights};   // no band: b is not known either
    const left = Math.sqrt(Math.max(0, model.coef[0].reduce((sum, a, i) => sum + a * y[i], 0) / n)), own = M.diagonal(kernel, A, rows);
    const std = Float64Array.from({length: rows}, (_, i) => { const k = K.slice(i * n, (i + 1) * n); return Math.sqrt(Math.max(0, own[i] - M.times(k, 1, model.solve(k))[0])); });
    return {mean, half: std.map((s) => 2 * left * s), weights};
  }
  const near = (i) => x.reduce((best, v, j) => Math.abs(v - grid[i]) < Math.abs(x[best] - grid[i]) ? j : best, 0);
  const found = learner === "local" ? M.lines(K, grid, x, y) : M.smoothed(K, rows, y, near);
  for (let i = 0; i < rows; i++) if (!Number.isFinite(found.mean[i])) { found.mean[i] = y[near(i)]; found.share[i] = 1; }
  const half = found.mean.map((_, i) => found.share[i] < 1 - 1e-9 ? NORMAL * Math.sqrt(found.variance[i] * found.share[i] / (1 - found.share[i])) : Infinity);
  return {...found, half, weights: (i) => { const k = K.slice(i * n, (i + 1) * n), total = k.reduce((a, b) => a + b, 0); return k.map((v) => v / (total || 1)); }};
}

// The mean squared error of a curve at points left out, one at a time.
export function curveLeftOut(kernel, state) {
  const {x, y} = state;
  let total = 0;
  for (let i = 0; i < x.length; i++) total += (curve(kernel, {...state, x: x.filter((_, j) => j !== i), y: y.filter((_, j) => j !== i)}, [x[i]]).mean[0] - y[i]) ** 2;
  return total / x.length;
}
