// Gram: K as a picture, its spectrum, and a turning view of where φ sends the points. Linked: the
// row under the pointer is a point in the other pictures.
import {css, h, number, rgb, s, sized} from "./dom.js";
import {color, trace} from "./marks.js";
import {KernelBox} from "./kernelbox.js";
import {Plane} from "./plane.js";
import {Superseded} from "./talk.js";
import * as address from "./address.js";

export class Gram {
  constructor(lab, given) {
    Object.assign(this, {lab, talk: lab.talk, presets: lab.catalog.presets, row: null, angle: .6, tilt: .35, showing: "K"});
    const preset = given.data in this.presets ? given.data : "spirals", entry = this.presets[preset];
    this.state = {kernel: given.kernel ?? "gaussian(0.3)", preset, n: Math.min(300, Math.max(4, Math.round(Number(given.n) || entry.n))), noise: given.noise ? Number(given.noise) : entry.noise, X: [], y: []};
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.build();
    this.sample();
  }

  build() {
    this.matrix = h("canvas", {role: "img", "aria-label": "The kernel matrix, rows by class"});
    this.lifted = h("canvas", {tabindex: 0, role: "application", "aria-label": "The points in feature space, three coordinates of kernel PCA. Arrow keys turn it."});
    const small = h("canvas", {role: "img", "aria-label": "The points in the plane"});
    this.small = new Plane(small, this.lab.catalog.limits.view);
    this.box = new KernelBox(this.talk, this.state.kernel, {onchange: (text) => { this.state.kernel = text; this.changed(); }, onwitnesses: () => {}});
    this.spectrum = h("section", {"aria-label": "Spectrum"});
    this.linked = h("section", {"aria-label": "This row"});
    this.title = h("h1", {});
    this.message = h("p", {class: "message", hidden: true, role: "status"});
    const kinds = h("div", {class: "tools", role: "toolbar", "aria-label": "What is shown"}, ...[["K", "k(x, z)"], ["distances", "Distances"]].map(([name, label]) =>
      h("button", {"aria-pressed": String(name === this.showing), onclick: (event) => { this.showing = name; for (const b of kinds.querySelectorAll("button")) b.setAttribute("aria-pressed", String(b === event.currentTarget)); this.repaint(); }}, label)),
      h("span", {class: "hint"}, "Move over a row to see its point"));
    this.lab.place.replaceChildren(this.title,
      h("div", {}, kinds, h("div", {class: "stage"}, this.matrix, this.message)),
      h("aside", {}, this.box.element, h("section", {class: "two", "aria-label": "Points"}, h("figure", {}, h("figcaption", {}, h("b", {}, "Points")), h("div", {class: "stage small"}, small)),
        h("figure", {}, h("figcaption", {}, h("b", {}, "Where φ sends them"), ", drag to turn"), h("div", {class: "stage small"}, this.lifted))), this.spectrum, this.linked));
    for (const canvas of [this.matrix, this.lifted]) new ResizeObserver(() => this.repaint()).observe(canvas);
    this.matrix.addEventListener("pointermove", (event) => { const box = this.matrix.getBoundingClientRect(); this.point(Math.floor((event.clientY - box.top) / box.height * (this.facts?.order.length ?? 0))); });
    this.matrix.addEventListener("pointerleave", () => this.point(null));
    small.addEventListener("pointermove", (event) => { const box = small.getBoundingClientRect(), hit = this.small.hit(event.clientX - box.left, event.clientY - box.top, 14); this.point(hit < 0 || !this.facts ? null : this.facts.order.indexOf(hit)); });
    small.addEventListener("pointerleave", () => this.point(null));
    this.lifted.addEventListener("pointerdown", (event) => { this.lifted.setPointerCapture(event.pointerId); this.grip = [event.clientX, event.clientY, this.angle, this.tilt]; });
    this.lifted.addEventListener("pointermove", (event) => { if (!this.grip) return; this.angle = this.grip[2] + (event.clientX - this.grip[0]) / 120; this.tilt = Math.max(-1.5, Math.min(1.5, this.grip[3] + (event.clientY - this.grip[1]) / 120)); this.drawLifted(); });
    this.lifted.addEventListener("pointerup", () => { this.grip = null; this.touched = true; });
    this.lifted.addEventListener("keydown", (event) => {
      const turns = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1]}[event.key];
      if (!turns) return;
      this.touched = true; this.angle += turns[0]; this.tilt = Math.max(-1.5, Math.min(1.5, this.tilt + turns[1])); this.drawLifted(); event.preventDefault();
    });
    this.headline();
    this.turn();
  }

  headline() {
    const data = h("select", {class: "pick", "aria-label": "Data", onchange: () => { Object.assign(this.state, {preset: data.value, n: Math.min(300, this.presets[data.value].n), noise: this.presets[data.value].noise}); this.sample(); }},
      ...Object.entries(this.presets).map(([name, {title}]) => h("option", {value: name, selected: name === this.state.preset}, title)));
    this.title.replaceChildren("What a kernel sees of ", data);
  }

  async sample() {
    const {preset, n, noise} = this.state;
    try {
      const {X, y} = await this.talk.ask("points", {source: {preset, n, noise, seed: 0}});
      Object.assign(this.state, {X, y});
      this.small.points = {X, y};
      this.small.draw();
      this.changed();
    } catch (error) { this.failed(error); }
  }

  changed() {
    if (!this.state.y.length) return;
    this.settled = false;
    const {kernel, preset, n, noise, X, y} = this.state;
    address.write("gram", {kernel, data: preset, n, noise});
    this.talk.ask("gram", {state: {kernel, learner: "ridge", options: {}, X, y, source: null}}).then((reply) => {
      this.facts = reply; this.message.hidden = true; this.settled = true;
      this.repaint(); this.showSpectrum(); this.point(null);
    }, (error) => this.failed(error));
  }

  failed(error) { if (!(error instanceof Superseded)) { this.message.textContent = error.message; this.message.hidden = false; } }
  leave() { this.gone = true; }

  turn() {
    if (this.gone) return;
    if (!this.still && !this.touched && !this.grip && !document.hidden) { this.angle += .004; this.drawLifted(); }
    requestAnimationFrame(() => this.turn());
  }

  point(row) {
    this.row = row !== null && this.facts && row >= 0 && row < this.facts.order.length ? row : null;
    this.small.visited = this.row === null ? -1 : this.facts.order[this.row];
    this.small.draw(); this.drawMatrix(); this.drawLifted();
    if (this.row === null) { this.linked.replaceChildren(h("h2", {}, "This row"), h("p", {class: "note"}, "A row of K holds what the kernel says of one point and all others. Move over the matrix or a point.")); return; }
    const m = this.facts.order.length, K = this.facts.arrays.K.data, row_ = Array.from({length: m}, (_, j) => [K[this.row * m + j], j]).filter(([, j]) => j !== this.row);
    row_.sort((a, b) => b[0] - a[0]);
    const index = this.facts.order[this.row];
    this.linked.replaceChildren(h("h2", {}, `Row ${this.row + 1}: x = (${number(this.state.X[2 * index])}, ${number(this.state.X[2 * index + 1])}), class ${this.state.y[index] + 1}`),
      h("p", {class: "note"}, `k(x, x) = ${number(K[this.row * m + this.row])}. Most alike: ${row_.slice(0, 4).map(([v, j]) => `row ${j + 1} (${number(v)})`).join(", ")}. Least: row ${row_.at(-1)[1] + 1} (${number(row_.at(-1)[0])}).`));
  }

  showSpectrum() {
    const {values} = this.facts.arrays, v = [...values.data], top = Math.max(...v, 1e-12), bottom = Math.min(...v, 0), W = 480, H = 110, w = W / v.length, zero = H * top / (top - bottom || 1);
    const svg = s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Eigenvalues of K"}, ...v.map((value, i) => {
      const height = Math.max(.6, Math.abs(value) / (top - bottom || 1) * H);
      return s("rect", {x: i * w + .5, width: Math.max(1, w - 1.5), y: value >= 0 ? zero - height : zero, height, class: "chart-now"});
    }));
    const psd = this.facts.least > -1e-9 * top;
    this.spectrum.replaceChildren(h("h2", {}, "Eigenvalues of K"), h("figure", {}, svg), h("p", {class: "note"},
      `${this.facts.rank} of ${this.facts.order.length} count; the first three hold ${(100 * this.facts.explained).toFixed(0)} %. `, psd ? "None is negative: on these points K is positive semi-definite." : `The least is ${number(this.facts.least)}: k is not a kernel.`));
  }

  drawMatrix() {
    const got = sized(this.matrix);
    if (!got || !this.facts) return;
    this.render(...got);
  }

  render(context, side) {
    const m = this.facts.order.length, values = this.facts.arrays[this.showing].data, image = new ImageData(m, m);
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

  drawLifted() {
    const got = sized(this.lifted);
    if (!got || !this.facts) return;
    const [context, side] = got, places = this.facts.arrays.places.data, m = this.facts.order.length;
    let reach = 1e-12;
    for (let i = 0; i < m; i++) reach = Math.max(reach, Math.hypot(places[3 * i], places[3 * i + 1], places[3 * i + 2]));
    context.fillStyle = css("--well"); context.fillRect(0, 0, side, side);
    const ca = Math.cos(this.angle), sa = Math.sin(this.angle), ct = Math.cos(this.tilt), st = Math.sin(this.tilt);
    const project = (x, y, z) => { const u = ca * x + sa * y, v = -sa * x + ca * y; return [side / 2 + .44 * side * u / reach, side / 2 - .44 * side * (ct * z - st * v) / reach, ct * v + st * z]; };
    context.strokeStyle = css("--rule"); context.lineWidth = 1;
    for (const axis of [[reach, 0, 0], [0, reach, 0], [0, 0, reach]]) { const a = project(...axis.map((v) => -v)), b = project(...axis); context.beginPath(); context.moveTo(a[0], a[1]); context.lineTo(b[0], b[1]); context.stroke(); }
    const dots = this.facts.order.map((index, i) => [...project(places[3 * i], places[3 * i + 1], places[3 * i + 2]), index, i]).sort((a, b) => b[2] - a[2]);
    for (const [u, v, depth, index, i] of dots) {
      const here = i === this.row, r = (here ? 7 : 4) * (1 - .2 * depth / reach);
      trace(context, this.state.y[index], u, v, r);
      context.fillStyle = color(this.state.y[index]); context.globalAlpha = .9; context.fill(); context.globalAlpha = 1;
      context.strokeStyle = here ? css("--ink") : css("--panel"); context.lineWidth = here ? 2.2 : 1; context.stroke();
    }
  }

  get plane() { return this; }
  script() {
    const {kernel, preset, n, noise} = this.state;
    return this.talk.ask("gram_script", {kernel, source: {preset, n, noise, seed: 0}}).then((reply) => reply.script);
  }
  csv() { return "x1,x2,class\n" + this.state.y.map((c, i) => `${this.state.X[2 * i]},${this.state.X[2 * i + 1]},${c}\n`).join(""); }
  repaint() { this.drawMatrix(); this.drawLifted(); this.small.draw(); }
}
