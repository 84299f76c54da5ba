// A perceptron at any moment: the server sends its visits, and K between the picture and the points
// that were ever updated on when it is asked for; the field after t visits is then a sum here.

export class Visits {
  constructor(reply) {
    const {arrays, visits} = reply;
    this.averaging = visits.averaging;
    this.radius = visits.radius;
    this.index = arrays.index.data;
    this.epoch = arrays.epoch.data;
    this.update = arrays.update.data;
    this.norm = arrays.norm.data;
    this.mistakes = arrays.mistakes.data;
    this.outputs = arrays.update.shape[1];
    this.used = [...arrays.used.data];
    this.columns = null;
    this.length = this.index.length;
    const column = new Map(this.used.map((point, j) => [point, j]));
    // The visits that changed something: when, which column of K, and by how much.
    this.changes = [];
    for (let t = 0; t < this.length; t++) {
      const u = this.update.subarray(t * this.outputs, (t + 1) * this.outputs);
      if (u.some((v) => v !== 0)) this.changes.push({t: t + 1, column: column.get(this.index[t]), u});
    }
  }

  // From now on there is a field after every visit.
  take({size, arrays}) { this.size = size; this.columns = arrays.columns.data; return this; }

  // What each used point counts after t visits: the last predictor's α, or the average's.
  coefficients(t) {
    const coef = new Float64Array(this.used.length * this.outputs);
    for (const change of this.changes) {
      if (change.t > t) break;
      const part = this.averaging === "average" ? (t - change.t + 1) / t : 1;
      for (let o = 0; o < this.outputs; o++) coef[change.column * this.outputs + o] += part * change.u[o];
    }
    return coef;
  }

  field(t) {
    return this.averaging === "vote" ? this.votes(t) : this.sum(this.coefficients(t));
  }

  sum(coef) {
    const cells = this.size ** 2, out = new Float32Array(cells * this.outputs);
    for (let j = 0; j < this.used.length; j++) {
      for (let o = 0; o < this.outputs; o++) {
        const a = coef[j * this.outputs + o];
        if (!a) continue;
        for (let i = 0, k = j * cells, at = o * cells; i < cells; i++) out[at + i] += a * this.columns[k + i];
      }
    }
    return out;
  }

  // Every predictor so far has one vote for each visit it survived.
  votes(t) {
    const cells = this.size ** 2, f = new Float32Array(cells * this.outputs), votes = new Float32Array(cells * this.outputs);
    let since = 1;
    const count = (until) => {
      const weight = until - since;
      if (weight <= 0) return;
      since = until;
      for (let i = 0; i < cells; i++) {
        if (this.outputs === 1) { votes[i] += f[i] > 0 ? weight : -weight; continue; }
        let best = 0;
        for (let o = 1; o < this.outputs; o++) if (f[o * cells + i] > f[best * cells + i]) best = o;
        votes[best * cells + i] += weight;
      }
    };
    for (const change of this.changes) {
      if (change.t > t) break;
      count(change.t);
      for (let o = 0; o < this.outputs; o++) {
        if (!change.u[o]) continue;
        for (let i = 0, k = change.column * cells, at = o * cells; i < cells; i++) f[at + i] += change.u[o] * this.columns[k + i];
      }
    }
    count(t + 1);
    for (let i = 0; i < votes.length; i++) votes[i] /= Math.max(1, t);
    return votes;
  }

  // α per point of the data, its size over all outputs.
  alpha(t, n) {
    const coef = this.coefficients(t), alpha = new Float32Array(n);
    this.used.forEach((point, j) => {
      for (let o = 0; o < this.outputs; o++) alpha[point] = Math.max(alpha[point], Math.abs(coef[j * this.outputs + o]));
    });
    return alpha;
  }
}
