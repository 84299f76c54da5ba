// Figures that live in a page: sliders for the kernel's numbers, points to drag, visits to play, and no server.
import {h, number, sized, slider, css, rgb, s} from "./dom.js";
import {axes} from "./axes.js";
import {MOST as BY_HAND, walk} from "./byhand.js";
import {paths} from "./charts.js";
import {Digits} from "./digits.js";
import {Drawing} from "./drawing.js";
import {Judges} from "./judges.js";
import {color} from "./marks.js";
import {Plane} from "./plane.js";
import {Playbar} from "./playbar.js";
import {Space} from "./space.js";
import {Visits} from "./visits.js";
import {readBytes, unpackPoints, unpackSeries} from "./address.js";
import * as L from "./learners.js";
import * as M from "./mercer.js";

const COARSE = 48, FINE = 144, MOVING = 64, REST = 200, VIEW = 1.5;
// Values of k in a picture that moves, at most: a frame has time for so many.
const PAIRS = 250_000;

// The points of a picture: what a plane shows of the data, the top row first.
function lattice(size, {middle: [x, y], half}) {
  const out = new Float64Array(2 * size * size), at = (k) => -half + 2 * half * k / (size - 1);
  for (let j = 0; j < size; j++) for (let i = 0; i < size; i++) { out[2 * (j * size + i)] = x + at(i); out[2 * (j * size + i) + 1] = y - at(j); }
  return out;
}

// What all figures share: the kernel's expression with its numbers as they stand, sliders, one line of words.
class Figure {
  constructor(place, spec) {
    Object.assign(this, {place, spec, values: spec.kernel.numbers.map((n) => n.value)});
    this.text = h("code", {class: "k"});
    this.words = h("p", {class: "said", role: "status"});
    const kernelSliders = spec.kernel.numbers.map((n, i) => slider({label: n.symbol, words: n.symbol.length > 2 ? n.symbol : "", low: n.low, high: n.high, log: n.log, whole: n.whole, value: n.value, usual: n.value, oninput: (v) => { this.values[i] = v; this.moved(); }}));
    this.title = h("span", {});
    this.dials = h("div", {});
    const choices = Object.entries(spec.others ?? {}).map(([name, other]) => h("button", {value: name, onclick: () => { Object.assign(spec, other, {learner: name}); this.choose(); this.moved(); }}, other.short));
    this.choices = h("div", {class: "tools", role: "toolbar", "aria-label": "Learner", hidden: !choices.length}, ...choices);
    this.side = h("div", {class: "side"}, h("p", {class: "what"}, this.title, h("br"), this.text), this.choices, ...kernelSliders, this.dials, this.words);
    this.choose();
    this.main = h("div", {class: "main"});
    place.append(this.main, this.side);
    this.build();
    this.moved();
    new MutationObserver(() => this.repaint()).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
  }

  // The learner's own numbers, as they are at first.
  choose() {
    const {spec} = this;
    this.options = {...spec.options};
    this.title.textContent = spec.title ?? "";
    for (const button of this.choices.children) button.setAttribute("aria-pressed", String(button.value === spec.learner));
    this.dials.replaceChildren(...(spec.sliders ?? []).map((o) => slider({label: o.label, words: o.label.length > 2 ? o.label : "", low: o.low, high: o.high, log: o.log, whole: o.whole, value: this.options[o.name], usual: o.default, oninput: (v) => { this.options[o.name] = v; this.moved(); }})));
  }

  kernel() { return L.kernelOf(this.spec.kernel, this.values); }

  expression() {
    const {text, numbers} = this.spec.kernel, parts = [];
    let from = 0;
    numbers.forEach((n, i) => { parts.push(text.slice(from, n.start), h("b", {}, this.values[i] === n.value ? text.slice(n.start, n.end) : number(this.values[i]))); from = n.end; });
    this.text.replaceChildren(...parts, text.slice(from));
  }

  // A number or a point is another one: the picture at once, the rest when all stands still.
  moved() {
    this.expression();
    clearTimeout(this.resting);
    try { this.quick(); this.failed = false; } catch (error) { this.failed = true; this.empty(); this.words.textContent = error.message; return; }
    this.resting = setTimeout(() => { try { this.rest(); } catch (error) { this.words.textContent = error.message; } this.settled = true; }, REST);
    this.settled = false;
  }
}

const percent = (v) => v === null || v === undefined ? "–" : `${(100 * v).toFixed(1)} %`;

class PlaneFigure extends Figure {
  build() {
    const {points, view = VIEW, center} = this.spec, {X, y} = typeof points === "string" ? unpackPoints(points) : points;
    this.test = this.spec.test ? unpackPoints(this.spec.test) : null;
    this.canvas = h("canvas", {role: "application", "aria-label": "Points in the plane. Arrow keys move a cross, Enter adds a point, Delete erases, digits choose the class."});
    this.plane = new Plane(this.canvas, view, center);
    this.plane.points = {X, y};
    this.drawing = new Drawing(this.plane, {points: 400, classes: this.spec.learner.includes("logistic") ? 3 : 10}, {onedit: (X, y) => { this.plane.points = {X, y}; this.test = null; this.moved(); }, onhover: (x) => this.hover(x), onview: () => this.moved()});
    this.plane.axes = true;
    this.playbar = new Playbar((t) => this.moment(t));
    this.hand = h("div", {});
    this.course = h("div", {class: "course"});
    this.main.append(this.drawing.bar, h("div", {class: "stage"}, this.canvas, this.drawing.lens), this.playbar.element, this.course, this.hand);
    this.drawing.show();
  }

  state() { const {X, y} = this.plane.points; return {learner: this.spec.learner, options: this.options, X: Float64Array.from(X), y, width: 2}; }

  field(size) {
    const scores = this.model.scores(lattice(size, this.plane), size * size), data = new Float32Array(scores.length * size * size);
    scores.forEach((values, o) => data.set(values, o * size * size));
    return {size, outputs: scores.length, data, gives: this.model.gives, classes: this.model.classes, margins: this.spec.learner === "svm" && scores.length === 1, doubt: null};
  }

  quick() {
    const state = this.state(), model = this.model = L.learn(this.kernel(), state);
    this.visits = this.courses = null;
    if (model.trace) {
      const {trace} = model, used = [...new Set([...trace.index].filter((_, t) => trace.update.subarray(t * trace.outputs, (t + 1) * trace.outputs).some((v) => v)))].sort((a, b) => a - b);
      const array = (data, columns = 1) => ({data, shape: [data.length / columns, columns]});
      this.visits = new Visits({visits: {averaging: model.averaging, radius: Math.max(...M.diagonal(model.kernel, model.points, model.n))},
        arrays: {index: array(trace.index), epoch: array(trace.epoch), update: array(trace.update, trace.outputs), norm: array(trace.norm), mistakes: array(trace.mistakes), used: array(used)}});
    }
    this.playbar.set(this.visits);
    if (this.visits && this.spec.visit !== undefined) this.playbar.go(Math.min(this.spec.visit, this.visits.length));
    delete this.spec.visit;   // where it was shared: from now on it moves
    const bold = model.coef && (model.trace || this.spec.learner === "svm");
    this.alpha = bold ? Array.from({length: model.n}, (_, i) => Math.max(...model.coef.map((c) => Math.abs(c[i])))) : null;
    this.training = L.wrong(L.winners(model.scores(state.X, model.n), model.classes, model.n), state.y);
    const terms = model.coef ? state.y.filter((_, i) => model.coef.some((c) => c[i])).length : model.n;
    this.final = this.field(Math.min(COARSE, Math.floor(Math.sqrt(PAIRS / Math.max(1, terms)))));
    this.say();
    this.moment(this.playbar.at, true);
  }

  rest() {
    const state = this.state();
    this.final = this.field(FINE);
    if (this.model.variance && this.spec.learner === "process") this.uncertain();
    const left = L.leftOut(this.kernel(), state), test = this.test && {X: Float64Array.from(this.test.X), y: this.test.y};
    this.courses = this.visits ? L.courses(this.kernel(), state, this.model, test) : null;
    const fresh = test ? L.wrong(L.winners(this.model.scores(test.X, test.y.length), this.model.classes, test.y.length), test.y) : null;
    this.moment(this.playbar.at);
    this.say(left, fresh);
  }

  uncertain() {
    const size = 28, Q = lattice(size, this.plane), k = this.model.against(Q, size * size), own = M.diagonal(this.model.kernel, M.prepared(this.model.kernel, Q, 2), size * size), n = this.model.n;
    const data = Float32Array.from({length: size * size}, (_, i) => { const v = this.model.variance(k.subarray(i * n, (i + 1) * n), own[i]); return Math.sqrt(v.reduce((a, b) => a + b, 0) / v.length / own[i]); });
    this.final.doubt = {shape: [size], data};
  }

  // The numbers are those of the end; after fewer visits the play bar has its own.
  say(left, fresh) {
    const parts = [`${this.visits ? "At the end: training" : "Training"} error ${percent(this.training)}`, left === undefined ? "" : `left out ${percent(left)}`, fresh === null || fresh === undefined ? "" : `new points ${percent(fresh)}`];
    this.words.textContent = `${parts.filter(Boolean).join(", ")}.`;
  }

  // The picture after t visits: within the next frame, or now.
  moment(t, now = false) {
    const {plane, visits} = this, between = visits && t !== null && t < visits.length;
    if (between && !visits.columns) {
      const at = Float64Array.from(visits.used.flatMap((i) => [plane.points.X[2 * i], plane.points.X[2 * i + 1]])), {kernel} = this.model;
      visits.take({size: MOVING, arrays: {columns: {data: M.gram(kernel, M.prepared(kernel, at, 2), M.prepared(kernel, lattice(MOVING, plane), 2), visits.used.length, MOVING * MOVING)}}});
    }
    plane.field = between ? {...this.final, size: visits.size, outputs: visits.outputs, data: visits.field(t), margins: false} : this.final;
    plane.alpha = between ? visits.alpha(t, plane.points.y.length) : this.alpha;
    plane.visited = between && t > 0 ? visits.index[t - 1] : -1;
    if (now) plane.paint(); else plane.draw();
    this.course.replaceChildren(this.courses ? paths(this.courses, t ?? visits.length) : "");
    const byHand = this.spec.learner === "walk" && visits?.outputs === 1 && plane.points.y.length <= BY_HAND;
    this.hand.replaceChildren(byHand ? walk(visits, t, plane.points.y, this.model.classes, (i, j) => this.model.K[i * this.model.n + j]) : "");
  }

  // The points that decide one pixel, as lines to them.
  hover(x) {
    const model = this.model, at = this.playbar.at, between = this.visits && at !== null && at < this.visits.length;
    this.plane.pixel = null;
    if (x && model?.coef && !between && !this.failed) {
      const k = model.against(Float64Array.from(x), 1), scores = model.scores(Float64Array.from(x), 1), best = scores.length === 1 ? 0 : scores.reduce((b, v, c) => v[0] > scores[b][0] ? c : b, 0);
      const lines = model.coef[best].length === model.n ? Array.from(model.coef[best], (a, index) => ({index, share: a * k[index]})) : [];
      this.plane.pixel = {x, lines: lines.filter((l) => l.share).map((l) => ({...l, toward: scores.length > 1 ? model.classes[best] : model.classes[l.share > 0 ? 1 : 0]}))};
    }
    this.plane.draw();
  }

  empty() { this.plane.field = null; this.visits = null; this.playbar.set(null); this.plane.draw(); }
  repaint() { this.plane.draw(); this.playbar.ticks(); }
}

class GramFigure extends Figure {
  build() {
    const {X, y} = unpackPoints(this.spec.points);
    this.order = y.map((_, i) => i).sort((a, b) => y[a] - y[b] || a - b);
    this.X = Float64Array.from(this.order.flatMap((i) => [X[2 * i], X[2 * i + 1]]));
    this.y = this.order.map((i) => y[i]);
    this.matrix = h("canvas", {role: "img", "aria-label": "The kernel matrix, rows by class"});
    this.space = new Space(h("canvas", {}), VIEW);
    this.main.classList.add("pair");
    this.main.append(h("div", {class: "stage"}, this.matrix), h("div", {class: "stage"}, this.space.canvas));
    this.spectrum = h("div", {class: "spectrum"});
    this.side.append(this.spectrum);
    new ResizeObserver(() => this.draw()).observe(this.matrix);
    new IntersectionObserver(([seen]) => { this.space.touched ||= !seen.isIntersecting; }).observe(this.matrix);   // nothing turns where nobody looks
  }

  quick() {
    const kernel = this.kernel(), n = this.y.length, points = M.prepared(kernel, this.X, 2);
    this.K = M.gram(kernel, points, points, n, n);
    this.chain();
    this.draw();
    if (n <= 130) this.spectra(); else this.words.textContent = "…";
  }
  rest() { if (this.y.length > 130) this.spectra(); }

  // Within a class each point is followed by the most alike of the rest: blocks are seen then.
  chain() {
    const n = this.y.length, order = [], K = this.K;
    for (const c of new Set(this.y)) {
      let left = this.y.flatMap((v, i) => v === c ? [i] : []);
      const total = (i) => left.reduce((sum, j) => sum + K[i * n + j], 0);
      let here = left.reduce((best, i) => total(i) < total(best) ? i : best, left[0]);
      while (left.length) { order.push(here); left = left.filter((i) => i !== here); here = left.reduce((best, i) => K[here * n + i] > K[here * n + best] ? i : best, left[0]); }
    }
    this.chained = order;
  }

  spectra() {
    const n = this.y.length, {places} = M.kernelPCA(this.K, n, 3), values = this.values_ = M.eigen(this.K, n).values, least = values[n - 1], top = values[0];
    this.space.set({X: this.X, y: this.y, order: this.y.map((_, i) => i), places});
    const shown = [...values].sort((a, b) => Math.abs(b) - Math.abs(a)).slice(0, 40).sort((a, b) => b - a), high = Math.max(...shown, 1e-12), low = Math.min(...shown, 0), W = 300, H = 60, unit = H / (high - low), zero = high * unit, w = W / Math.max(12, shown.length);
    this.spectrum.replaceChildren(s("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Eigenvalues of K"}, ...shown.map((v, i) => s("rect", {x: i * w, width: Math.max(1, w - 1.5), y: v >= 0 ? zero - v * unit : zero, height: Math.max(.6, Math.abs(v) * unit), class: v < -1e-9 * Math.abs(top) ? "below" : "above"}))));
    this.words.textContent = least > -1e-9 * Math.abs(top) ? `Eigenvalues from ${number(top)} to ${number(Math.max(0, least))}: none is negative on these points.` : `Eigenvalues from ${number(top)} to ${number(least)}: below 0, so k is not a kernel.`;
  }

  draw() {
    const got = sized(this.matrix), n = this.y.length;
    if (!got || !this.K || this.failed) return;
    const [context, side] = got, image = new ImageData(n, n), most = this.K.reduce((m, v) => Math.max(m, Math.abs(v)), 1e-300), ground = rgb(css("--panel")), ink = rgb(css("--ink")), minus = rgb(css("--c4"));
    this.chained.forEach((a, i) => this.chained.forEach((b, j) => {
      const v = this.K[a * n + b], tone = v < 0 ? minus : ink, at = 4 * (i * n + j);
      for (let c = 0; c < 3; c++) image.data[at + c] = ground[c] + (tone[c] - ground[c]) * Math.abs(v) / most;
      image.data[at + 3] = 255;
    }));
    this.image ??= document.createElement("canvas");
    this.image.width = this.image.height = n;
    this.image.getContext("2d").putImageData(image, 0, 0);
    context.fillStyle = css("--well"); context.fillRect(0, 0, side, side);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, 12, 12, side - 12, side - 12);
    const cell = (side - 12) / n;
    this.chained.forEach((a, i) => { context.fillStyle = color(this.y[a]); context.fillRect(12 + i * cell, 3, cell + .5, 6); context.fillRect(3, 12 + i * cell, 6, cell + .5); });
  }

  empty() { this.K = null; this.spectrum.replaceChildren(); }
  repaint() { this.draw(); this.space.draw(); }
}

class CurveFigure extends Figure {
  build() {
    const {points, range: [from, to] = [0, 10]} = this.spec;
    Object.assign(this, typeof points === "string" ? unpackSeries(points) : points, {from, wide: to - from});
    this.grid = Float64Array.from({length: 201}, (_, i) => from + i / 200 * this.wide);
    this.canvas = h("canvas", {tabindex: 0, role: "application", "aria-label": "Points on a line. Arrow keys move the query; drag a point, or click to add one."});
    this.main.append(h("div", {class: "stage"}, this.canvas));
    this.fit();
    const at = (event) => { const box = this.canvas.getBoundingClientRect(); return this.back(event.clientX - box.left, event.clientY - box.top); };
    const near = ([u, v]) => { const [px, py] = this.on(u, v); return this.x.findIndex((x, i) => { const [a, b] = this.on(x, this.y[i]); return Math.hypot(a - px, b - py) < 14; }); };
    this.canvas.addEventListener("pointerdown", (event) => {
      const [u, v] = at(event);
      this.canvas.setPointerCapture(event.pointerId);
      this.held = near([u, v]);
      if (this.held < 0) { this.x = [...this.x, u]; this.y = [...this.y, v]; this.held = this.x.length - 1; this.query = null; this.moved(); }
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const [u, v] = at(event);
      if (this.held === undefined) { this.query = u; this.draw(); return; }
      this.x[this.held] = u; this.y[this.held] = v; this.query = null; this.moved();
    });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { this.held = undefined; });
    this.canvas.addEventListener("pointerleave", () => { this.query = null; this.draw(); });
    this.canvas.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -.01, ArrowRight: .01}[event.key];
      if (!step) return;
      this.query = Math.min(from + this.wide, Math.max(from, (this.query ?? from + this.wide / 2) + step * this.wide)); this.draw(); event.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  fit() {
    const least = this.spec.range ? [] : [0, 1], low = Math.min(...this.y, ...least), high = Math.max(...this.y, ...least), pad = .15 * (high - low) + (least.length ? .2 : 0);
    this.window = [low - pad, high + pad];
  }
  on(x, y, side = this.canvas.clientWidth) { const [low, high] = this.window; return [(x - this.from) / this.wide * side, (1 - (y - low) / (high - low)) * side]; }
  back(px, py) { const side = this.canvas.clientWidth, [low, high] = this.window, clip = (v, a, b) => Math.min(b, Math.max(a, v)); return [this.from + this.wide * clip(px / side, 0, 1), clip(high - py / side * (high - low), low, high)]; }
  state() { return {learner: this.spec.learner, options: this.options, x: this.x, y: this.y}; }

  quick() {
    this.curve = L.curve(this.kernel(), this.state(), this.grid);
    const at = L.curve(this.kernel(), this.state(), this.x).mean;
    this.training = at.reduce((sum, v, i) => sum + (v - this.y[i]) ** 2, 0) / at.length;
    this.words.textContent = `Mean squared error: training ${number(this.training)}.`;
    this.paint();
  }
  rest() { this.left = L.curveLeftOut(this.kernel(), this.state()); this.words.textContent = `Mean squared error: training ${number(this.training)}, leaving one out ${number(this.left)}.`; }
  draw() { if (!this.pending) { this.pending = true; requestAnimationFrame(() => { this.pending = false; this.paint(); }); } }

  paint() {
    const got = sized(this.canvas);
    if (!got) return;
    const [context, side] = got, on = (x, y) => this.on(x, y, side), path = (values) => values.forEach((v, i) => context[i ? "lineTo" : "moveTo"](...on(this.grid[i], v)));
    context.fillStyle = css("--well"); context.fillRect(0, 0, side, side);
    const {mean, half} = this.curve ?? {}, row = this.query === null || this.query === undefined ? null : Math.round(200 * (this.query - this.from) / this.wide), [low, high] = this.window, reach = 2 * (high - low);
    axes(context, side, [this.from, this.from + this.wide], this.window);
    if (mean) {
      context.beginPath();
      for (let i = 0; i < 201; i++) context[i ? "lineTo" : "moveTo"](...on(this.grid[i], mean[i] + Math.min(reach, half[i])));
      for (let i = 200; i >= 0; i--) context.lineTo(...on(this.grid[i], mean[i] - Math.min(reach, half[i])));
      context.globalAlpha = .1; context.fillStyle = css("--ink"); context.fill(); context.globalAlpha = 1;
      context.beginPath(); path(mean); context.lineWidth = 2.4; context.lineJoin = "round"; context.strokeStyle = css("--ink"); context.stroke();
    }
    const weights = mean && row !== null ? this.curve.weights(row) : null, most = weights ? Math.max(...weights.map(Math.abs), 1e-300) : 1;
    this.x.forEach((x, i) => {
      const [u, v] = on(x, this.y[i]), w = weights ? weights[i] / most : 0;
      context.beginPath(); context.arc(u, v, weights ? 3 + 7 * Math.sqrt(Math.abs(w)) : 4.5, 0, 2 * Math.PI);
      context.fillStyle = css(w < 0 ? "--c1" : "--c0"); context.globalAlpha = weights ? .35 + .65 * Math.abs(w) : 1; context.fill(); context.globalAlpha = 1;
      context.lineWidth = 1.2; context.strokeStyle = css("--panel"); context.stroke();
    });
    if (weights) {
      const [u, v] = on(this.grid[row], mean[row]);
      context.beginPath(); context.moveTo(u, 0); context.lineTo(u, side); context.lineWidth = 1; context.strokeStyle = css("--muted"); context.stroke();
      context.beginPath(); context.arc(u, v, 5.5, 0, 2 * Math.PI); context.lineWidth = 2.4; context.fillStyle = css("--paper"); context.strokeStyle = css("--ink"); context.fill(); context.stroke();
    }
  }

  empty() { this.curve = null; this.draw(); }
  repaint() { this.draw(); }
}

// A digit to be drawn, and three who read it.
class DigitsFigure {
  constructor(place, {given, images, labels}) {
    place.classList.add("digits");
    this.panel = new Digits({place, judges: new Judges(Float64Array.from(new Uint8Array(readBytes(images)), (v) => v / 16), labels)}, given);
    new MutationObserver(() => this.panel.repaint()).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
  }
  get settled() { return this.panel.settled; }
}

const KINDS = {playground: PlaneFigure, gram: GramFigure, curves: CurveFigure, digits: DigitsFigure};

// Makes every figure of the page: `<div class="mercer-live"><script type="application/json">…`.
export function start() {
  if (document.body.classList.contains("mercer-page")) document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const begin = (place) => { const spec = JSON.parse(place.querySelector("script").textContent); place.figure = new KINDS[spec.panel](place, spec); };
  const watcher = new IntersectionObserver((seen) => { for (const {isIntersecting, target} of seen) if (isIntersecting) { watcher.unobserve(target); begin(target); } }, {rootMargin: "400px"});
  for (const place of document.querySelectorAll(".mercer-live")) watcher.observe(place);
}
