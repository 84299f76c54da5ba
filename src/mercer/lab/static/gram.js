// Gram: K as a picture, its spectrum, and a turning view of where φ sends the points. Linked: the
// row under the pointer is a point in the other pictures.
import {css, h, number, rgb, s, sized, slider} from "./dom.js";
import {color} from "./marks.js";
import {KernelBox} from "./kernelbox.js";
import {Plane} from "./plane.js";
import {LIFTS, Space} from "./space.js";
import {Superseded} from "./talk.js";
import * as address from "./address.js";

const MATRICES = {K: "k(x, z)", distances: "Distances"};
const SPACES = {flat: "2-D", turning: "3-D", ...Object.fromEntries(Object.entries(LIFTS).map(([name, {label}]) => [name, label]))};

export class Gram {
  constructor(lab, given) {
    Object.assign(this, {lab, talk: lab.talk, presets: lab.catalog.presets, row: null});
    const preset = Object.hasOwn(this.presets, given.data) ? given.data : "spirals", entry = this.presets[preset], drawn = given.points ? address.unpackPoints(given.points) : null;
    const source = {preset, n: Math.min(300, Math.max(4, Math.round(Number(given.n) || entry.n))), noise: given.noise ? Math.min(1, Math.max(0, Number(given.noise) || 0)) : entry.noise, seed: Math.max(0, Math.round(Number(given.seed) || 0))};
    this.state = {kernel: given.kernel ?? "gaussian(0.3)", source: drawn ? null : source, X: drawn?.X ?? [], y: drawn?.y ?? []};
    this.showing = Object.hasOwn(MATRICES, given.show) || Object.hasOwn(SPACES, given.show) ? given.show : "K";
    this.build();
    this.show(this.showing);
    if (drawn) this.pointsChanged(); else this.sample();
  }

  build() {
    this.matrix = h("canvas", {tabindex: 0, role: "application", "aria-label": "The kernel matrix, rows by class. Arrow keys move from row to row."});
    this.space = new Space(h("canvas", {}), this.lab.catalog.limits.view);
    const small = h("canvas", {role: "img", "aria-label": "The points in the plane"});
    this.small = new Plane(small, this.lab.catalog.limits.view);
    this.box = new KernelBox(this.talk, this.state.kernel, {onchange: (text) => { this.state.kernel = text; this.changed(); }, onwitnesses: () => {}});
    this.spectrum = h("section", {"aria-label": "Spectrum"});
    this.linked = h("section", {"aria-label": "This row"});
    this.title = h("h1", {});
    this.message = h("p", {class: "message", hidden: true, role: "status"});
    this.kinds = h("div", {class: "tools", role: "toolbar", "aria-label": "What is shown"}, ...Object.entries({...MATRICES, ...SPACES}).map(([name, label]) =>
      h("button", {value: name, onclick: () => { this.show(name); if (name in LIFTS) this.play(); }}, label)));
    this.lift = slider({label: "lift", words: "lifted", low: 0, high: 1, value: 1, oninput: (v) => { cancelAnimationFrame(this.playing); this.raise(v); }});
    this.lifting = h("div", {class: "lifting", hidden: true}, h("button", {class: "link", onclick: () => this.play()}, "Play"), this.lift);
    this.noted = h("p", {class: "note", role: "status"});
    this.lab.place.replaceChildren(this.title,
      h("div", {}, this.kinds, this.big = h("div", {class: "stage"}), this.lifting, this.noted),
      h("aside", {}, this.box.element, h("section", {class: "two", "aria-label": "Points"}, h("figure", {}, h("figcaption", {}, h("b", {}, "Points")), h("div", {class: "stage small"}, small)),
        h("figure", {}, this.caption = h("figcaption", {}), this.other = h("div", {class: "stage small"}))), this.spectrum, this.linked));
    new ResizeObserver(() => this.drawMatrix()).observe(this.matrix);
    this.matrix.addEventListener("pointermove", (event) => { const box = this.matrix.getBoundingClientRect(); this.point(Math.floor((event.clientY - box.top) / box.height * (this.facts?.order.length ?? 0))); });
    this.matrix.addEventListener("pointerleave", () => this.point(null));
    this.matrix.addEventListener("keydown", (event) => {
      const step = {ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1}[event.key], m = this.facts?.order.length;
      if (!step || !m) return;
      this.point(this.row === null ? 0 : (this.row + step + m) % m);
      event.preventDefault();
    });
    small.addEventListener("pointermove", (event) => { const box = small.getBoundingClientRect(), hit = this.small.hit(event.clientX - box.left, event.clientY - box.top, 14); this.point(hit < 0 || !this.facts ? null : this.facts.order.indexOf(hit)); });
    small.addEventListener("pointerleave", () => this.point(null));
    this.headline();
  }

  headline() {
    const source = this.state.source;
    const data = h("select", {class: "pick", "aria-label": "Data", onchange: () => {
      if (!(data.value in this.presets)) return;
      const {n, noise} = this.presets[data.value];
      this.state.source = {preset: data.value, n: Math.min(300, n), noise, seed: 0};
      this.sample();
    }}, ...(source ? [] : [h("option", {value: "mine", selected: true}, "my own points")]), ...Object.entries(this.presets).map(([name, {title}]) => h("option", {value: name, selected: name === source?.preset}, title)));
    this.title.replaceChildren("What a kernel sees of ", data);
  }

  // One picture is large, and the other kind stands beside the points.
  show(name) {
    this.showing = name;
    for (const button of this.kinds.children) button.setAttribute("aria-pressed", String(button.value === name));
    const spatial = name in SPACES;
    this.stop();
    this.space.kind = spatial ? name : "turning";
    this.big.replaceChildren(spatial ? this.space.canvas : this.matrix, this.message);
    this.other.replaceChildren(spatial ? this.matrix : this.space.canvas);
    this.caption.replaceChildren(h("b", {}, spatial ? "k(x, z)" : "Where φ sends them"));
    this.lifting.hidden = !(name in LIFTS);
    this.describe();
    this.remember();
    this.repaint();
  }

  describe() {
    const {explained} = this.facts ?? {}, level = this.showing in LIFTS && this.state.y.length ? this.space.points && this.space.level() : null;
    this.noted.textContent = this.showing in LIFTS
      ? level ? `The height is ${SPACES[this.showing].slice(8)}. ${level.wrong ? `The best level plane leaves ${level.wrong} of ${this.state.y.length} points on the wrong side.` : "A level plane separates the classes."}` : ""
      : this.showing in SPACES && explained !== undefined ? `Kernel PCA: the first ${this.showing === "flat" ? "two" : "three"} coordinates of where φ sends the points.${this.showing === "flat" ? "" : " Drag, or use the arrow keys, to turn."}` : "";
  }

  raise(v) { this.space.lift = v; this.space.draw(); }
  stop() { cancelAnimationFrame(this.playing); this.raise(1); this.lift.show(1); }

  // From the plane to the surface in three seconds, smoothly.
  play() {
    this.stop();
    if (this.space.still) return;
    const began = performance.now();
    const frame = (now) => {
      const t = Math.min(1, Math.max(0, now - began - 400) / 2600), eased = t * t * (3 - 2 * t);
      this.raise(eased); this.lift.show(Number(eased.toPrecision(3)));
      if (t < 1) this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
  }

  async sample() {
    try {
      const {X, y} = await this.talk.ask("points", {source: this.state.source});
      Object.assign(this.state, {X, y});
      this.headline();
      this.pointsChanged();
    } catch (error) { this.failed(error); }
  }

  pointsChanged() {
    this.small.points = {X: this.state.X, y: this.state.y};
    this.small.draw();
    this.changed();
  }

  snapshot() { const {kernel, X, y, source} = this.state; return {kernel, learner: "ridge", options: {}, X, y, source}; }

  remember() {
    const {kernel, source, X, y} = this.state;
    address.write("gram", {kernel, data: source ? source.preset : "none", n: source?.n, noise: source?.noise, seed: source?.seed || null, points: source ? null : address.packPoints(X, y), show: this.showing === "K" ? null : this.showing});
  }

  changed() {
    if (!this.state.y.length) return;
    this.settled = false;
    this.remember();
    this.talk.ask("gram", {state: this.snapshot()}).then((reply) => {
      const K = reply.arrays.K.data, m = reply.order.length;
      reply.arrays.distances = {data: K.map((v, at) => Math.sqrt(Math.max(0, K[Math.floor(at / m) * (m + 1)] - 2 * v + K[at % m * (m + 1)])))};
      this.facts = reply; this.message.hidden = true; this.settled = true;
      this.space.set({X: this.state.X, y: this.state.y, order: reply.order, places: reply.arrays.places.data});
      this.describe(); this.repaint(); this.showSpectrum(); this.point(null);
    }, (error) => this.failed(error));
  }

  failed(error) { if (!(error instanceof Superseded)) { this.message.textContent = error.message; this.message.hidden = false; } }
  leave() { this.stop(); this.space.leave(); }

  point(row) {
    this.row = row !== null && this.facts && row >= 0 && row < this.facts.order.length ? row : null;
    this.space.row = this.row;
    const m = this.facts?.order.length ?? 0, K = this.facts?.arrays.K.data, others = [];
    for (let j = 0; this.row !== null && j < m; j++) if (j !== this.row) others.push([K[this.row * m + j], j]);
    const index = this.row === null ? -1 : this.facts.order[this.row], {X, y} = this.state;
    this.small.visited = index;
    this.small.pixel = this.row === null ? null : {x: [X[2 * index], X[2 * index + 1]], lines: others.map(([share, j]) => ({index: this.facts.order[j], share, toward: y[this.facts.order[j]]}))};
    this.small.draw(); this.drawMatrix(); this.space.draw();
    if (this.row === null) { this.linked.replaceChildren(h("h2", {}, "This row"), h("p", {class: "note"}, "A row of K holds what the kernel says of one point and all others. Move over the matrix or a point.")); return; }
    others.sort((a, b) => b[0] - a[0]);
    const sum = others.reduce((a, [v]) => a + Math.abs(v), 0) || 1, own = others.filter(([, j]) => y[this.facts.order[j]] === y[index]).reduce((a, [v]) => a + Math.abs(v), 0);
    this.linked.replaceChildren(h("h2", {}, `Row ${this.row + 1}: x = (${number(X[2 * index])}, ${number(X[2 * index + 1])}), class ${y[index] + 1}`),
      h("p", {class: "note"}, `k(x, x) = ${number(K[this.row * m + this.row])}. ${(100 * own / sum).toFixed(0)} % of the rest of the row goes to its own class. Most alike: ${others.slice(0, 4).map(([v, j]) => `row ${j + 1} (${number(v)})`).join(", ")}. Least: row ${others.at(-1)[1] + 1} (${number(others.at(-1)[0])}).`));
  }

  showSpectrum() {
    const {values} = this.facts.arrays, v = [...values.data], top = Math.max(...v, 1e-12), bottom = Math.min(...v, 0), W = 480, H = 110, w = W / v.length, zero = H * top / (top - bottom || 1);
    const svg = s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Eigenvalues of K"}, ...v.map((value, i) => {
      const height = Math.max(.6, Math.abs(value) / (top - bottom || 1) * H);
      return s("rect", {x: i * w + .5, width: Math.max(1, w - 1.5), y: value >= 0 ? zero - height : zero, height, class: "chart-now"});
    }));
    const psd = this.facts.least > -1e-9 * top;
    this.spectrum.replaceChildren(h("h2", {}, "Eigenvalues of K"), h("figure", {}, svg), h("p", {class: "note"},
      `${this.facts.rank} of ${this.facts.order.length} differ from 0; the largest three make up ${(100 * this.facts.explained).toFixed(0)} % of their sum. `, psd ? "None is negative: on these points K is positive semi-definite." : `The least is ${number(this.facts.least)}: k is not a kernel.`));
  }

  drawMatrix() {
    const got = sized(this.matrix);
    if (!got || !this.facts) return;
    this.renderMatrix(...got);
  }

  renderMatrix(context, side) {
    const m = this.facts.order.length, values = this.facts.arrays[this.showing in MATRICES ? this.showing : "K"].data, image = new ImageData(m, m);
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1, ground = rgb(css("--panel")), ink = rgb(css("--ink")), minus = rgb(css("--c4"));
    for (let i = 0; i < m * m; i++) {
      const tone = values[i] < 0 ? minus : ink, part = Math.abs(values[i]) / most;
      for (let j = 0; j < 3; j++) image.data[4 * i + j] = ground[j] + (tone[j] - ground[j]) * part;
      image.data[4 * i + 3] = 255;
    }
    this.image ??= document.createElement("canvas");
    this.image.width = this.image.height = m;
    this.image.getContext("2d").putImageData(image, 0, 0);
    const margin = 12;
    context.fillStyle = css("--well"); context.fillRect(0, 0, side, side);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, margin, margin, side - margin, side - margin);
    const cell = (side - margin) / m;
    this.facts.order.forEach((index, i) => { context.fillStyle = color(this.state.y[index]); context.fillRect(margin + i * cell, 3, cell + .5, 6); context.fillRect(3, margin + i * cell, 6, cell + .5); });
    if (this.row !== null) { context.fillStyle = css("--c0"); context.globalAlpha = .35; context.fillRect(margin, margin + this.row * cell, side - margin, Math.max(2, cell)); context.fillRect(margin + this.row * cell, margin, Math.max(2, cell), side - margin); context.globalAlpha = 1; }
  }

  // --- sharing ---------------------------------------------------------------------------------

  // What a file would show: the large picture.
  get plane() { return this.showing in SPACES ? this.space : {render: (...canvas) => this.renderMatrix(...canvas)}; }
  script() { return this.talk.ask("gram_script", {state: this.snapshot()}).then((reply) => reply.script); }
  csv() { return "x1,x2,class\n" + this.state.y.map((c, i) => `${this.state.X[2 * i]},${this.state.X[2 * i + 1]},${c}\n`).join(""); }
  repaint() { this.drawMatrix(); this.space.draw(); this.small.draw(); }
}
