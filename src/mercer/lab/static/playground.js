// The playground: points in the plane, a kernel, a learner, and everything that follows from them.
import {$, h, number, slider} from "./dom.js";
import {MOST as BY_HAND, walk} from "./byhand.js";
import {arrows, bars, chart, meeting, paths} from "./charts.js";
import {Drawing} from "./drawing.js";
import {KernelBox} from "./kernelbox.js";
import {icon} from "./marks.js";
import {Plane} from "./plane.js";
import {Playbar} from "./playbar.js";
import {Superseded} from "./talk.js";
import {Visits} from "./visits.js";
import {takeFiles} from "./tables.js";
import * as address from "./address.js";

const signed = (value) => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
const COARSE = 48, FINE = 192, REST = 180;

export class Playground {
  constructor(lab, given) {
    this.lab = lab;
    this.talk = lab.talk;
    const {learners, presets, limits} = lab.catalog;
    Object.assign(this, {learners, presets, limits});
    this.state = this.initial(given);
    this.beside = Object.hasOwn(this.learners, given.beside) && given.beside !== this.state.learner ? given.beside : null;
    this.wantedVisit = given.visit === undefined ? null : Math.max(0, Math.round(Number(given.visit) || 0));
    this.build();
    this.start(given);
  }

  initial(given) {
    const learner = Object.hasOwn(this.learners, given.learner) ? given.learner : "perceptron";
    const preset = Object.hasOwn(this.presets, given.data) ? given.data : "spirals";
    const wanted = (name, usual) => Number.isFinite(Number(given[name])) && given[name] ? Number(given[name]) : usual;
    const options = {};
    for (const option of this.learners[learner].options) {
      const value = wanted(option.name, option.default);
      options[option.name] = Math.min(option.high, Math.max(option.low, value));
    }
    return {kernel: given.kernel ?? "gaussian(0.2)", learner, options, X: [], y: [],
      source: given.data === "none" ? null : {preset, n: Math.round(Math.min(this.limits.points, Math.max(2, wanted("n", this.presets[preset].n)))),
        noise: Math.min(1, Math.max(0, wanted("noise", this.presets[preset].noise))), seed: Math.round(Math.max(0, wanted("seed", 0)))}};
  }

  async start(given) {
    const file = given.panel ? null : this.talk.hello;   // points of a file, at the first visit
    const points = given.points ? address.unpackPoints(given.points) : file?.X ? file : null;
    if (file?.X) this.state.source = null;
    this.ready = false;
    if (points) { this.edited = true; this.setPoints(points.X, points.y, false); this.drawing.reset(); }
    else if (this.state.source) await this.sample();
    else this.setPoints([], [], false);
    this.ready = true;
    this.headline();
    this.changed();
  }

  // --- layout ----------------------------------------------------------------------------------

  build() {
    this.canvas = h("canvas", {"aria-label": "Points in the plane. Arrow keys move a cross, Enter adds a point, Delete erases, digits choose the class.", role: "application"});
    this.plane = new Plane(this.canvas, this.limits.view);
    this.drawing = new Drawing(this.plane, this.limits, {onedit: (X, y) => this.setPoints(X, y, true), onhover: (x) => this.hover(x), onview: () => this.changed()});
    this.plane.axes = this.plane.zooms = true;
    const second = h("canvas", {role: "img", "aria-label": "The same points, by the other learner"});
    this.besidePlane = new Plane(second, this.limits.view);
    this.besideStage = h("div", {class: "stage", hidden: true}, second, this.whichBeside = h("p", {class: "which"}));
    this.message = h("p", {class: "message", hidden: true, role: "status"});
    this.box = new KernelBox(this.talk, this.state.kernel, {
      onchange: (text) => { this.state.kernel = text; this.changed(); },
      onwitnesses: (points) => { this.plane.witnesses = points; this.plane.draw(); }});
    this.playbar = new Playbar((t) => this.moment(t));
    this.hand = h("section", {"aria-label": "By hand", hidden: true});
    this.options = h("section", {"aria-label": "Learner"});
    this.numbers = h("section", {"aria-label": "Errors"});
    this.charts = h("section", {"aria-label": "The perceptron and its bounds"});
    this.pixel = h("section", {"aria-label": "This pixel"});
    this.title = h("h1", {});
    this.lab.place.replaceChildren(this.title,
      h("div", {}, this.drawing.bar, this.stages = h("div", {class: "stages"}, h("div", {class: "stage"}, this.canvas, this.drawing.lens, this.which = h("p", {class: "which"}), this.message), this.besideStage), this.playbar.element, this.course = h("div", {class: "course"}), this.bend = h("button", {class: "link", hidden: true, onclick: () => this.learnMetric()}, "Learn the metric"), this.noted = h("p", {class: "note", role: "status"})),
      h("aside", {}, this.hand, this.box.element, this.options, this.numbers, this.pixel, this.charts));
    takeFiles(this.lab.place, this.limits, (X, y) => { this.drawing.remember(); this.state.source = null; this.setPoints(X, y, true); this.drawing.show(); }, (words) => this.say(words));
    this.headline();
    this.showOptions();
    this.showErrors({});
    this.showPixel(null);
    this.charts.hidden = true;
  }

  headline() {
    const choices = (known, chosen, extra) => [extra, ...Object.entries(known)].filter(Boolean)
      .map(([name, {title}]) => h("option", {value: name, selected: name === chosen}, title));
    const entry = this.learners[this.state.learner], source = this.state.source, mine = this.edited || !source;
    const learner = h("select", {class: "pick", "aria-label": "Learner", onchange: () => this.setLearner(learner.value)}, ...choices(this.learners, this.state.learner));
    const data = h("select", {class: "pick", "aria-label": "Data", onchange: () => this.setPreset(data.value)},
      ...choices(this.presets, mine ? "mine" : source.preset, mine ? ["mine", {title: "my own points"}] : null));
    const count = this.state.y.length;
    const points = h("button", {class: "pick", popovertarget: "sampling", "aria-haspopup": "true"}, `${count} point${count === 1 ? "" : "s"}`);
    const article = /^[aeiou]/i.test(entry.title) ? "An " : "A ";
    this.title.replaceChildren(article, learner, " learns ", data, " from ", points, this.sampling(points));
  }

  // The popover behind the number of points.
  sampling(opener) {
    const source = this.state.source ?? {preset: "spirals", n: 120, noise: .05, seed: 0};
    const change = (what) => { this.state.source = {...source, ...this.state.source, ...what}; this.edited = false; this.sample().then(() => this.changed()); };
    const menu = h("div", {id: "sampling", popover: "auto", class: "menu"},
      slider({label: "n", words: "points", low: 4, high: 400, log: true, whole: true, value: Math.min(400, Math.max(4, source.n)), oninput: (n) => change({n})}),
      slider({label: "noise", words: "noise", low: 0, high: .6, value: source.noise, oninput: (noise) => change({noise})}),
      h("button", {class: "item", onclick: () => change({seed: (source.seed ?? 0) + 1})}, "Draw another sample"));
    menu.addEventListener("beforetoggle", () => {
      const box = opener.getBoundingClientRect();
      menu.style.left = `${Math.min(box.left, innerWidth - 300)}px`; menu.style.top = `${box.bottom + 6}px`;
    });
    return menu;
  }

  showOptions() {
    const known = this.learners[this.state.learner].options;
    const other = h("select", {"aria-label": "Compare with", onchange: () => { this.beside = other.value || null; this.showOptions(); this.changed(); }},
      h("option", {value: ""}, "nothing"), ...Object.entries(this.learners).filter(([name]) => name !== this.state.learner).map(([name, {title}]) => h("option", {value: name, selected: name === this.beside}, title)));
    this.besideErrors = h("p", {class: "note", hidden: true});
    this.box.element.hidden = !this.learners[this.state.learner].kernel;   // a learned metric has its own
    this.options.replaceChildren(h("h2", {}, "Learner"), h("label", {class: "choice"}, "compare with", other), this.besideErrors, ...known.map((o) => slider({label: o.label, words: o.label.length > 2 ? o.label : "", low: o.low, high: o.high, log: o.log, whole: o.whole,
      value: this.state.options[o.name], usual: o.default, oninput: (value) => { this.state.options[o.name] = value; this.changed(); }})));
  }

  // --- changes ---------------------------------------------------------------------------------

  setLearner(name) {
    this.state.learner = name;
    if (this.beside === name) this.beside = null;
    this.state.options = Object.fromEntries(this.learners[name].options.map((o) => [o.name, o.default]));
    this.headline(); this.showOptions(); this.changed();
  }

  async setPreset(name) {
    if (!(name in this.presets)) return;
    this.state.source = {preset: name, n: this.presets[name].n, noise: this.presets[name].noise, seed: 0};
    this.edited = false;
    await this.sample();
    this.changed();
  }

  async sample() {
    try {
      this.source = this.state.source;
      const {X, y} = await this.talk.ask("points", {source: this.state.source});
      this.edited = false;
      this.sampled = {X, y};
      this.setPoints(X, y, false);
      this.drawing.reset();
      const label = $("[popovertarget=sampling]", this.title);
      if (label) { label.textContent = `${y.length} point${y.length === 1 ? "" : "s"}`; }
      const data = $("select[aria-label=Data]", this.title);
      if (data && data.value === "mine") this.headline();
    } catch (error) { if (!(error instanceof Superseded)) this.say(error.message); }
  }

  setPoints(X, y, drawn) {
    this.state.X = X; this.state.y = y;
    this.plane.points = {X, y};
    this.plane.alpha = null;
    this.plane.draw();
    if (!drawn) return;
    if (!y.length) this.state.source = null;
    const same = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]), kept = this.sampled && same(this.sampled.X, X) && same(this.sampled.y, y);
    if (kept) { this.state.source ??= this.source; this.edited = false; this.headline(); }   // undone: the sample again
    else if (!this.edited) { this.edited = true; this.headline(); }
    else { const label = $("[popovertarget=sampling]", this.title); label.textContent = `${y.length} point${y.length === 1 ? "" : "s"}`; }
    this.changed();
  }

  snapshot() {
    const {kernel, learner, options, X, y, source} = this.state;
    return {kernel, learner, options: {...options}, X, y, source};
  }

  // Something is different: a coarse picture at once, everything else at rest.
  changed() {
    if (!this.ready) return;
    this.remember();
    this.hover(null);
    this.settled = false;
    clearTimeout(this.resting);
    if (new Set(this.state.y).size < 2) return this.nothing();
    const state = this.snapshot();
    const visits = this.learners[state.learner].visits;
    // Between the first visit and the last the picture is made of K, which is long.
    const between = visits && (this.wantedVisit !== null || this.visits && this.playbar.at < this.visits.length);
    const view = this.plane.window, columns = between ? this.talk.ask("columns", {state, view}) : null;
    this.drawn = Promise.all([this.talk.ask("field", {state, size: COARSE, visits, view}), columns]).then(([reply, columns]) => {
      this.message.hidden = true;
      this.show(reply, visits ? new Visits(reply) : null, columns);
      this.resting = setTimeout(() => this.rest(), REST);
    }, (error) => this.failed(error));
  }

  // The same points and kernel by another learner, at its defaults.
  drawBeside() {
    const shown = Boolean(this.beside) && Boolean(this.plane.field);
    this.besideStage.hidden = !shown;
    this.stages.classList.toggle("pair", shown);
    if (!shown) return;
    const {title, options} = this.learners[this.beside], state = {...this.snapshot(), learner: this.beside, options: Object.fromEntries(options.map((o) => [o.name, o.default]))};
    this.which.textContent = this.learners[this.state.learner].title;
    this.whichBeside.textContent = title;
    Object.assign(this.besidePlane, {middle: this.plane.middle, half: this.plane.half, axes: true});
    this.talk.ask("field", {state, size: 96, visits: false, view: this.plane.window}, "beside").then((reply) => {
      Object.assign(this.besidePlane, {points: {X: state.X, y: state.y}, field: this.fieldOf(reply, this.beside), alpha: null});
      this.besidePlane.draw();
      this.besideErrors.hidden = false;
      this.besideErrors.textContent = `${title}: training error ${(100 * reply.training).toFixed(1)} %`;
      return this.talk.ask("errors", {state}, "beside");
    }).then((reply) => {
      const percent = (v) => `${(100 * v).toFixed(1)} %`;
      this.besideErrors.textContent = `${title}: ${percent(reply.training)} training${reply.left_out === null ? "" : `, ${percent(reply.left_out)} ${reply.how}`}${reply.test === null ? "" : `, ${percent(reply.test)} new points`}`;
    }, () => {});
  }

  // The errors for other values of the kernel's first number, under its slider.
  drawOver(state) {
    const place = this.box.below;
    if (!this.box.numbers.length || !this.learners[state.learner].kernel || state.y.length > 200) { place.replaceChildren(); return; }
    const number_ = this.box.numbers[this.box.last < this.box.numbers.length ? this.box.last : 0], index = this.box.numbers.indexOf(number_);
    this.talk.ask("errors_over", {state, number: index}, "beside").then((reply) => {
      const {tried, training, left_out} = reply.arrays, list = (a) => Array.from(a.data), left = list(left_out), known = left.filter(Number.isFinite);
      if (!known.length) { place.replaceChildren(); return; }
      const least = Math.min(...known), best = left.indexOf(least), value = tried.data[best], nearest = list(tried).reduce((b, v, i) => Math.abs(Math.log(v / number_.value) || v - number_.value) < Math.abs(Math.log(tried.data[b] / number_.value) || tried.data[b] - number_.value) ? i : b, 0);
      const gaps = (values) => values.map((v) => Number.isFinite(v) ? v : 1);
      place.replaceChildren(chart([h("b", {}, `Errors over ${number_.symbol}`), `: left out least at ${number(value)} (${(100 * least).toFixed(1)} %), training dashed `,
        h("button", {class: "link", onclick: () => this.box.slideTo(index, Number(value.toPrecision(3)))}, "Use it")], [{values: gaps(left), kind: "line"}, {values: gaps(list(training)), kind: "bound"}], nearest, 560, best));
    }, () => {});
  }

  rest() {
    const state = this.snapshot(), view = this.plane.window;
    this.drawBeside();
    this.drawOver(state);
    const errors = this.talk.ask("errors", {state}).then((reply) => {
      this.paths = reply.arrays.training_path ? {training: reply.arrays.training_path.data, left: reply.arrays.left_path?.data, fresh: reply.arrays.test_path?.data} : null;
      this.showErrors(reply);
      this.bounds = reply.bound ? {bound: reply.bound, margin: reply.margin, alignment: reply.arrays.alignment.data} : null;
      this.showCharts();
    }, () => {});
    const visits = this.visits;
    const columns = visits && !visits.columns ? this.talk.ask("columns", {state, view}).then((reply) => { visits.take(reply); this.moment(this.playbar.at); }, () => {}) : null;
    const fine = this.talk.ask("field", {state, size: FINE, visits: false, view}).then((reply) => { this.final = this.fieldOf(reply); this.moment(this.playbar.at); }, () => {});
    Promise.all([errors, columns, fine]).then(() => { this.settled = true; });
  }

  nothing() {
    this.noted.textContent = "";
    this.plane.field = null; this.plane.metrics = null; this.visits = null; this.final = null; this.bounds = null; this.course.hidden = this.bend.hidden = true;
    this.playbar.set(null); this.charts.hidden = true; this.showErrors({});
    this.say("Draw points of two classes: choose a class above, then click in the picture.");
    this.plane.draw();
  }

  failed(error) { if (!(error instanceof Superseded)) this.say(error.message); }
  say(words) { this.message.textContent = words; this.message.hidden = false; }

  remember() {
    const {kernel, learner, options, source, X, y} = this.state;
    const at = this.playbar.at !== null && this.playbar.at < this.playbar.length ? this.playbar.at : null;
    address.write("playground", {kernel, learner, ...options, data: source ? source.preset : "none", n: source?.n, noise: source?.noise, seed: source?.seed || null,
      points: this.edited || !source ? address.packPoints(X, y) : null, visit: at, beside: this.beside});
  }

  // --- what came back --------------------------------------------------------------------------

  fieldOf(reply, learner = this.state.learner) {
    const {shape, data} = reply.arrays.field;
    return {size: reply.size, outputs: shape[0], data, gives: reply.gives, classes: reply.classes, margins: learner === "svm" && shape[0] === 1, doubt: reply.arrays.doubt ?? null};
  }

  show(reply, visits, columns) {
    this.final = this.fieldOf(reply);
    this.facts = reply;
    const bold = reply.arrays.alpha;
    this.finalAlpha = bold && (visits || this.state.learner === "svm")
      ? Array.from({length: bold.shape[0]}, (_, i) => Math.max(...bold.data.subarray(i * bold.shape[1], (i + 1) * bold.shape[1]).map(Math.abs))) : null;
    this.visits = visits && columns ? visits.take(columns) : visits;
    this.bounds = null;
    this.turn(reply.arrays.metrics);
    this.byHand();
    this.paths = null;   // those of the fit before
    this.playbar.set(this.visits);
    this.showErrors({training: reply.training});
    const wanted = this.wantedVisit; this.wantedVisit = null;
    if (this.visits && wanted !== null) this.playbar.go(Math.min(wanted, this.visits.length));
    this.moment(this.playbar.at);
    this.plane.paint();   // now: the next frame then has nothing to draw
    if (!visits) this.showCharts();   // the errors of the rounds come later
    this.noted.textContent = reply.notes[0] ?? (reply.arrays.metrics ? "The ellipse: what the learned metric holds equally far from the middle. Dashed: the rounds before." : this.final.doubt ? "The larger the dots, the less is known there." : "");
  }

  // The ellipse of a learned metric turns from where it was to where it is.
  turn(metrics) {
    cancelAnimationFrame(this.turning);
    if (!metrics) { this.plane.metrics = null; return; }
    const all = Array.from({length: metrics.shape[0]}, (_, r) => [metrics.data[4 * r], metrics.data[4 * r + 1], metrics.data[4 * r + 3]]), to = all.at(-1), from = this.plane.metrics?.at(-1) ?? all[0], began = performance.now();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const frame = (now) => {
      const t = still ? 1 : Math.min(1, Math.max(0, now - began) / 700), part = t * t * (3 - 2 * t);
      this.plane.metrics = [...all.slice(0, -1), to.map((v, i) => from[i] + part * (v - from[i]))];
      this.plane.draw();
      if (t < 1) this.turning = requestAnimationFrame(frame);
    };
    frame(began);
  }

  // Round by round, from the plain distance on: the picture, the ellipse and the errors follow.
  async learnMetric() {
    const last = Math.max(1, this.state.options.rounds);
    for (let r = 0; r <= last && this.state.learner === "learned" && !this.gone; r++) {
      this.state.options.rounds = r;
      this.showOptions(); this.changed();
      await this.drawn;
      await new Promise((done) => setTimeout(done, 1100));
    }
  }

  // The walk of the lecture, for a few points of two classes.
  byHand() {
    const {state, visits} = this, shown = state.learner === "walk" && visits?.outputs === 1 && state.y.length <= BY_HAND;
    this.hand.hidden = !shown;
    if (!shown) return;
    this.talk.ask("gram", {state: this.snapshot()}, "beside").then((reply) => {
      const at = new Map(reply.order.map((index, row) => [index, row])), K = reply.arrays.K.data, m = reply.order.length;
      this.k = (i, j) => K[at.get(i) * m + at.get(j)];
      this.showHand();
    }, () => {});
  }
  showHand() {
    if (!this.hand.hidden && this.k && this.visits) this.hand.replaceChildren(h("h2", {}, "By hand: in order, and sign(0) = −1"), walk(this.visits, this.playbar.at ?? this.visits.length, this.state.y, this.facts.classes, this.k));
  }

  // The picture after t visits; at the end, or without visits, what the server drew.
  moment(t) {
    const plane = this.plane, visits = this.visits;
    if (visits?.columns && t !== null && t < visits.length) {
      plane.field = {...this.final, margins: false, size: visits.size, outputs: visits.outputs, data: visits.field(t)};
      plane.alpha = visits.alpha(t, this.state.y.length);
      plane.visited = t > 0 ? visits.index[t - 1] : -1;
    } else {
      plane.field = this.final;
      plane.alpha = this.finalAlpha;
      plane.visited = -1;
    }
    plane.draw();
    this.errorsNow();
    if (this.hovering) this.hover(this.hovering);
    this.showHand();
    if (visits) { this.laterCharts(); this.remember(); }
  }

  // Charts follow at leisure, and always end with the last moment.
  laterCharts() {
    if (this.chartsLater) return;
    this.chartsLater = setTimeout(() => { this.chartsLater = null; this.showCharts(); }, 60);
  }

  // The errors at the end; those of points that are not trained on come later: gray ones are of the fit before.
  showErrors(found) {
    this.numbers.classList.toggle("waiting", !("left_out" in found));
    this.errors = found.training === undefined ? {} : {...this.errors, ...found};
    this.errorsNow();
  }

  // At a moment before the last visit, the errors of that moment; nothing is known before the first.
  errorsNow() {
    const {training, left_out, how, test} = this.errors, t = this.visits && this.playbar.at < this.visits.length ? this.playbar.at : null;
    const one = (end, path, words) => { const value = t === null ? end : t > 0 && path ? path[t - 1] : null, known = value !== undefined && value !== null; return h("div", {}, h("strong", {}, known ? (100 * value).toFixed(1) : "–", known ? h("small", {}, " %") : null), h("span", {}, words)); };
    this.numbers.replaceChildren(h("h2", {}, "Errors"), h("div", {class: "nums"}, one(training, this.paths?.training, "training"), one(left_out, this.paths?.left, how ?? "left out"),
      this.state.source && !this.edited ? one(test, this.paths?.fresh, "new points") : null));
  }

  showCharts() {
    const visits = this.visits;
    const rounds = this.state.learner === "learned";
    this.bend.hidden = !rounds;
    this.charts.hidden = !visits; this.course.hidden = !visits && !rounds;
    if (rounds && this.paths) this.course.replaceChildren(paths(this.paths, this.paths.training.length, "round"));
    if (!visits) return;
    const now = this.playbar.at ?? visits.length, begun = (values) => [0, ...values];   // before the first visit all are 0
    const mistakes = begun(visits.mistakes), norms = begun(visits.norm), aligned = this.bounds ? begun(this.bounds.alignment) : [];
    const made = mistakes[now], bounds = this.bounds, R2 = visits.radius;
    const flat = (v) => ({values: [v, v].length ? new Array(visits.length + 1).fill(v) : [], kind: "bound"});
    const figures = [
      chart([h("b", {}, `${made} mistake${made === 1 ? "" : "s"}`), bounds ? ` ≤ ${number(Math.floor(bounds.bound))}` : ""],
        [{values: mistakes, kind: "line"}, ...(bounds && bounds.bound < 50 * Math.max(1, visits.mistakes[visits.length - 1]) ? [flat(bounds.bound)] : [])], now),
      chart([h("b", {}, `‖w‖² = ${number(norms[now])}`), visits.outputs === 1 ? ` ≤ ${number(R2 * made)}` : ""],
        [{values: norms, kind: "line"}, ...(visits.outputs === 1 ? [{values: mistakes.map((m) => R2 * m), kind: "bound"}] : [])], now)];
    if (bounds) figures.push(chart([h("b", {}, `⟨w, w*⟩ = ${number(aligned[now])}`), ` ≥ ${number(bounds.margin * made)}`],
      [{values: aligned, kind: "line"}, {values: mistakes.map((m) => bounds.margin * m), kind: "bound"}], now));
    if (visits.outputs === 1) {
      const coef = visits.coefficients(this.playbar.at ?? visits.length), shown = visits.used.map((point, j) => [coef[j], this.state.y[point]]).filter(([v]) => v).slice(0, 120);
      figures.push(bars([h("b", {}, `${shown.length} points`), " with α ≠ 0"], shown.map(([v]) => v), shown.map(([, c]) => c)));
    }
    this.course.replaceChildren(this.paths ? paths(this.paths, now) : "");
    if (bounds && norms[now] > 0) figures.push(arrows(Math.min(1, aligned[now] / Math.sqrt(norms[now])), Math.sqrt(norms[now] / Math.max(...norms))));
    if (bounds) figures.push(meeting(bounds, Math.sqrt(R2), made, aligned[now], Math.sqrt(Math.max(0, norms[now]))));
    if (bounds) figures.push(h("p", {class: "note"}, "‖w‖² stays below R² · mistakes, ⟨w, w*⟩ above ρ · mistakes: so there are at most (R/ρ)² mistakes."));
    this.charts.replaceChildren(h("div", {class: "charts"}, ...figures));
  }

  // --- a guess by a click ------------------------------------------------------------------------

  // Just before the next mistake: where will the line be after it? `told` hears how far from it the click was.
  async guessLine(told) {
    if (!this.visits) return told("Choose a perceptron first.");
    if (!this.visits.columns) this.visits.take(await this.talk.ask("columns", {state: this.snapshot(), view: this.plane.window}));
    const from = this.playbar.at >= this.visits.length ? 0 : this.playbar.at, next = this.visits.changes.find(({t}) => t > Math.max(1, from)) ?? this.visits.changes.at(-1);
    this.playbar.pause();
    this.playbar.go(next.t - 1);
    told("The next visit is a mistake. Click in the picture where you expect the line, or move the cross there and press Enter.");
    this.drawing.once = (x) => {
      this.playbar.go(next.t);
      const apart = this.plane.toLine(x);
      told(apart === null ? "There is no line after this mistake: all of the picture is on one side." : `${apart < .15 * this.plane.half ? "Right" : "Not quite"}: the line passes at a distance of ${number(apart, 2)}.`);
    };
  }

  // --- one pixel -------------------------------------------------------------------------------

  hover(x) {
    clearTimeout(this.leaving);
    if (!x || !this.plane.field) {
      if (this.plane.pixel) { this.plane.pixel = null; this.plane.draw(); this.showPixel(null); }
      this.hovering = null;
      return;
    }
    this.hovering = x;
    const visit = this.visits && this.playbar.at < this.visits.length ? this.playbar.at : null;
    this.talk.ask("pixel", {state: this.snapshot(), x: x.map((v) => Math.round(v * 1e4) / 1e4), visit}).then((reply) => {
      if (!this.hovering) return;
      const {shape, data} = reply.arrays.shares, classes = this.facts.classes, outputs = shape[1];
      const best = outputs === 1 ? null : reply.score.indexOf(Math.max(...reply.score));
      const lines = [];
      for (let i = 0; i < shape[0]; i++) {
        const share = data[i * outputs + (best ?? 0)];
        if (Math.abs(share) > 1e-9) lines.push({index: i, share, toward: outputs === 1 ? classes[share > 0 ? 1 : 0] : share > 0 ? classes[best] : this.state.y[i]});
      }
      lines.sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
      this.plane.pixel = {x: reply.x, lines: lines.slice(0, 60)};
      this.plane.draw();
      this.showPixel({score: reply.score[best ?? 0], deviation: reply.deviation?.[best ?? 0], winner: best === null ? classes[reply.score[0] > 0 ? 1 : 0] : classes[best], lines, pushes: reply.coordinates?.map((c) => c[best ?? 0])});
    }, () => {});
  }

  showPixel(found) {
    this.pixel.classList.toggle("now", Boolean(found));   // in sight while the pointer is in the picture
    if (!found) {
      this.pixel.replaceChildren(h("h2", {}, "This pixel"), h("p", {class: "note"}, "Move over the picture: lines show the points that decide, as thick as what each adds."));
      return;
    }
    const most = Math.max(...found.lines.map((l) => Math.abs(l.share)), 1e-12), shown = found.lines.slice(0, 4);
    this.pixel.replaceChildren(h("h2", {}, `This pixel: f(x) = ${number(found.score)}${found.deviation === undefined ? "" : ` ± ${number(found.deviation)}`}, class ${found.winner + 1}`),
      ...shown.map(({index, share, toward}) => {
        const fill = h("i", {});
        fill.style.background = `var(--c${toward})`;
        fill.style[share < 0 ? "right" : "left"] = "50%";
        fill.style.width = `${50 * Math.abs(share) / most}%`;
        return h("div", {class: "bar"}, icon(this.state.y[index]), h("span", {class: "t"}, fill), h("span", {class: "v"}, signed(share)));
      }),
      h("p", {class: "note"}, found.lines.length > shown.length ? `and ${found.lines.length - shown.length} more.` : ""),
      found.pushes ? h("p", {class: "note pushes", title: "Shapley values against all points: what knowing a coordinate adds to the mean score, over both orders"},
        `Pushed by x₁ ${signed(found.pushes[0])}, by x₂ ${signed(found.pushes[1])}.`) : "");
  }

  // --- sharing ---------------------------------------------------------------------------------

  // What a picture file says below the picture, and the pictures it holds.
  get caption() { const {title, kernel} = this.learners[this.state.learner]; return kernel ? `${title}, k = ${this.state.kernel}` : title; }
  get pictures() { return this.beside && !this.besideStage.hidden ? [[this.plane, this.caption], [this.besidePlane, this.learners[this.beside].title]] : [[this.plane, this.caption]]; }
  script() { return this.talk.ask("script", {state: this.snapshot()}).then((reply) => reply.script); }
  csv() { return "x1,x2,class\n" + this.state.y.map((c, i) => `${this.state.X[2 * i]},${this.state.X[2 * i + 1]},${c}\n`).join(""); }
  leave() { this.gone = true; this.playbar.pause(); }
  repaint() { this.plane.draw(); this.besidePlane.draw(); this.playbar.ticks(); }
}
