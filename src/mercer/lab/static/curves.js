// Curves: regression on a line. Draw points, choose a smoother, see its band and its weights.
import {css, h, number, sized, slider} from "./dom.js";
import {axes} from "./axes.js";
import {chart} from "./charts.js";
import {KernelBox} from "./kernelbox.js";
import {Superseded} from "./talk.js";
import * as address from "./address.js";

const LOW = 0, HIGH = 10, REST = 150;
const round = (v) => Math.round(v * 1e4) / 1e4;
// A number between 0 and 1 that looks drawn at random, and is the same every time.
const fixed = (i) => { const v = Math.sin(12.9898 * i) * 43758.5453; return Math.min(1 - 1e-9, Math.max(1e-9, v - Math.floor(v))); };

export class Curves {
  constructor(lab, given) {
    Object.assign(this, {lab, talk: lab.talk, learners: lab.catalog.smoothers, presets: lab.catalog.series, past: []});
    const learner = Object.hasOwn(this.learners, given.learner) ? given.learner : "nadaraya", [option] = this.learners[learner].options;
    const preset = Object.hasOwn(this.presets, given.data) ? given.data : "sine_linear_noise";
    const value = Number(given[option.name]) || option.default;
    this.state = {kernel: given.kernel ?? (learner === "ridge" ? "gaussian(1)" : "gaussian()"), learner, options: {[option.name]: Math.min(option.high, Math.max(option.low, value))}, x: [], y: [],
      source: {preset, n: Math.min(400, Math.max(3, Math.round(Number(given.n) || 60))), noise: given.noise ? Math.min(5, Math.max(0, Number(given.noise) || 0)) : .5, seed: Math.max(0, Math.round(Number(given.seed) || 0))}};
    const drawn = given.points ? address.unpackSeries(given.points) : null;
    this.tool = "point";
    this.edited = Boolean(drawn);
    this.build();
    if (drawn) { Object.assign(this.state, drawn); this.fit(); this.count.textContent = `${drawn.y.length} points`; this.changed(); } else this.sample();
  }

  build() {
    this.canvas = h("canvas", {tabindex: 0, role: "application", "aria-label": "Points on a line. Arrow keys move the query, Enter adds a point at the curve, Delete erases the nearest point."});
    this.message = h("p", {class: "message", hidden: true, role: "status"});
    this.box = new KernelBox(this.talk, this.state.kernel, {onchange: (text) => { this.state.kernel = text; this.changed(); }, onwitnesses: () => {}});
    this.title = h("h1", {});
    this.options = h("section", {"aria-label": "Smoother"});
    this.numbers = h("section", {"aria-label": "Errors"});
    this.query_ = h("section", {"aria-label": "This x"});
    this.undo_ = h("button", {disabled: true, onclick: () => this.undo()}, "Undo");
    this.tools = h("div", {class: "tools", role: "toolbar", "aria-label": "Draw"}, this.undo_,
      h("button", {onclick: () => this.edit([], [])}, "Clear"), ...["Erase", "Look"].map((label) => { const button = h("button", {"aria-pressed": "false", onclick: () => {
        this.tool = this.tool === label ? "point" : label;
        for (const one of this.tools.querySelectorAll("[aria-pressed]")) one.setAttribute("aria-pressed", String(one.textContent === this.tool));
      }}, label); return button; }),
      h("button", {onclick: () => this.learnMore()}, "Add where it is least certain"),
      this.wiggle = h("button", {"aria-pressed": "false", title: "Curves that the points allow, if f is a Gaussian process", onclick: () => this.sampling_(this.wiggle.getAttribute("aria-pressed") === "false")}, "Samples"));
    this.lab.place.replaceChildren(this.title,
      h("div", {}, this.tools, h("div", {class: "stage"}, this.canvas, this.message)),
      h("aside", {}, this.box.element, this.options, this.numbers, this.query_));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { this.held = null; this.fit(); this.draw(); });
    this.canvas.addEventListener("pointerleave", (event) => { if (!this.held && event.pointerType !== "touch") this.ask(null); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.headline();
    this.showOptions();
    this.showErrors({});
    this.showQuery(null);
  }

  headline() {
    const choose = (label, known, chosen, act) => {
      const select = h("select", {class: "pick", "aria-label": label, onchange: () => act(select.value)}, ...Object.entries(known).map(([name, {title}]) => h("option", {value: name, selected: name === chosen}, title)));
      return select;
    };
    const mine = this.edited ? {mine: {title: "my own points"}} : {};
    const count = h("button", {class: "pick", popovertarget: "series"}, `${this.state.y.length} points`);
    const source = this.state.source;
    const change = (what) => { Object.assign(source, what); this.sample(); };
    const menu = h("div", {id: "series", popover: "auto", class: "menu"},
      slider({label: "n", words: "points", low: 4, high: 400, log: true, whole: true, value: source.n, oninput: (n) => change({n})}),
      slider({label: "noise", words: "noise", low: 0, high: 3, value: source.noise, oninput: (noise) => change({noise})}),
      h("button", {class: "item", onclick: () => change({seed: source.seed + 1})}, "Draw another sample"));
    menu.addEventListener("beforetoggle", () => { const box = count.getBoundingClientRect(); menu.style.left = `${Math.min(box.left, innerWidth - 300)}px`; menu.style.top = `${box.bottom + 6}px`; });
    this.count = count;
    this.title.replaceChildren("The ", choose("Smoother", this.learners, this.state.learner, (name) => this.setLearner(name)), " follows ",
      choose("Data", {...mine, ...this.presets}, this.edited ? "mine" : source.preset, (name) => { if (name in this.presets) change({preset: name}); }), " through ", count, menu);
  }

  showOptions() {
    const [o] = this.learners[this.state.learner].options;
    this.loo = h("div", {});
    this.slider = slider({label: o.label, low: o.low, high: o.high, log: o.log, value: this.state.options[o.name], usual: o.default, oninput: (value) => { this.state.options[o.name] = value; this.changed(); }});
    this.options.replaceChildren(h("h2", {}, o.name === "bandwidth" ? "Bandwidth" : "Penalty"), this.slider, this.loo);
  }

  setLearner(name) {
    const [o] = this.learners[name].options, ridge = (name === "ridge") !== (this.state.learner === "ridge");
    this.state.learner = name;
    this.state.options = {[o.name]: o.default};
    this.headline(); this.showOptions();
    // A bandwidth beside the kernel's own width would be one too many.
    if (ridge) this.box.set(name === "ridge" ? "gaussian(1)" : "gaussian()"); else this.changed();
  }

  // --- points ----------------------------------------------------------------------------------

  async sample() {
    try {
      const {x, y} = await this.talk.ask("series", {source: this.state.source, at: null});
      this.edited = false; this.past = []; this.undo_.disabled = true;
      Object.assign(this.state, {x, y});
      this.fit();
      if (this.title.querySelector("option[value=mine]")) this.headline(); else this.count.textContent = `${y.length} points`;
      this.changed();
    } catch (error) { this.failed(error); }
  }

  edit(x, y, keep = true) {
    if (keep) { this.past.push({x: this.state.x, y: this.state.y}); this.undo_.disabled = false; }
    Object.assign(this.state, {x, y});
    if (!this.edited) { this.edited = true; this.headline(); }
    this.count.textContent = `${y.length} points`;
    this.changed();
  }

  undo() { const before = this.past.pop(); this.undo_.disabled = !this.past.length; if (before) { this.edit(before.x, before.y, false); this.fit(); } }

  async learnMore() {
    if (this.facts === undefined) return;
    const at = round(this.facts.uncertain);
    try {
      const {x, y} = await this.talk.ask("series", {source: this.state.source, at});
      this.edit([...this.state.x, ...x], [...this.state.y, ...y]);
    } catch (error) { this.failed(error); }
  }

  // The window: as high as the points, and the same while one is dragged.
  fit() {
    const {y} = this.state, low = Math.min(...y, 0), high = Math.max(...y, 1), pad = .15 * (high - low) + .2;
    this.window = [low - pad, high + pad];
  }

  toScreen(x, y, side = this.canvas.clientWidth) {
    const [low, high] = this.window;
    return [(x - LOW) / (HIGH - LOW) * side, (1 - (y - low) / (high - low)) * side];
  }
  toData(px, py) {
    const side = this.canvas.clientWidth, [low, high] = this.window;
    return [LOW + px / side * (HIGH - LOW), high - py / side * (high - low)];
  }
  at(event) { const box = this.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }
  hit(px, py) {
    let best = -1, nearest = 144;
    this.state.x.forEach((x, i) => { const [u, v] = this.toScreen(x, this.state.y[i]), d = (u - px) ** 2 + (v - py) ** 2; if (d < nearest) { nearest = d; best = i; } });
    return best;
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const [px, py] = this.at(event), hit = this.hit(px, py), {x, y} = this.state;
    if (this.tool === "Look") { this.ask(Math.min(HIGH, Math.max(LOW, this.toData(px, py)[0]))); return; }
    if (event.altKey || this.tool === "Erase") { if (hit >= 0) this.edit(x.filter((_, i) => i !== hit), y.filter((_, i) => i !== hit)); return; }
    if (hit < 0) { const [u, v] = this.toData(px, py).map(round); this.edit([...x, u], [...y, v]); this.held = x.length; }
    else { this.past.push({x, y}); this.undo_.disabled = false; this.held = hit; }
    this.ask(null);
  }

  move(event) {
    const [px, py] = this.at(event), [u, v] = this.toData(px, py).map(round);
    if (this.held === null || this.held === undefined) { if (event.pointerType !== "touch" || this.tool === "Look") this.ask(Math.min(HIGH, Math.max(LOW, u))); return; }
    const x = [...this.state.x], y = [...this.state.y];
    x[this.held] = Math.min(HIGH, Math.max(LOW, u)); y[this.held] = v;
    this.edit(x, y, false);
  }

  key(event) {
    const step = event.shiftKey ? .5 : .1, now = this.queried ?? 5;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.ask(round(Math.min(HIGH, Math.max(LOW, now + (event.key === "ArrowLeft" ? -step : step)))));
    else if (event.key === "Enter" && this.answer) this.edit([...this.state.x, this.answer.x], [...this.state.y, round(this.answer.value)]);
    else if (event.key === "Delete" || event.key === "Backspace") {
      const {x, y} = this.state, nearest = x.reduce((best, v, i) => Math.abs(v - now) < Math.abs(x[best] - now) ? i : best, 0);
      this.edit(x.filter((_, i) => i !== nearest), y.filter((_, i) => i !== nearest));
    } else if ((event.ctrlKey || event.metaKey) && event.key === "z") this.undo();
    else return;
    event.preventDefault();
  }

  // --- samples of the Gaussian process -----------------------------------------------------------

  // mean + F u, where u goes around circles: every moment is as probable as every other.
  sampling_(on) {
    this.wiggle.setAttribute("aria-pressed", String(on));
    cancelAnimationFrame(this.moving);
    this.time = 0;
    if (on && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      const frame = (now) => { this.time = now / 1400; this.draw(); this.moving = requestAnimationFrame(frame); };
      this.moving = requestAnimationFrame(frame);
    }
    this.draw();
  }
  get samples() { return this.wiggle.getAttribute("aria-pressed") === "true" && this.curve?.factor ? this.drawSamples(5) : []; }
  drawSamples(count) {
    const {factor, middle} = this.curve, [rows, columns] = factor.shape, cos = Math.cos(this.time), sin = Math.sin(this.time);
    this.normals ??= Array.from({length: 2 * 5 * 40}, (_, i) => { const u = fixed(2 * i + 1), v = fixed(2 * i + 2); return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v); });
    return Array.from({length: count}, (_, c) => Float64Array.from({length: rows}, (_, i) => {
      let value = middle.data[i];
      for (let k = 0; k < columns; k++) value += factor.data[i * columns + k] * (cos * this.normals[80 * c + k] + sin * this.normals[80 * c + 40 + k]);
      return value;
    }));
  }
  leave() { cancelAnimationFrame(this.moving); }

  // --- asking ----------------------------------------------------------------------------------

  snapshot() { const {kernel, learner, options, x, y, source} = this.state; return {kernel, learner, options: {...options}, x, y, source: {...source}}; }

  changed() {
    if (!this.window) return;
    this.settled = false;
    const {kernel, learner, options, source} = this.state;
    address.write("curves", {kernel, learner, ...options, data: source.preset, n: source.n, noise: source.noise, seed: source.seed || null, points: this.edited ? address.packSeries(this.state.x, this.state.y) : null});
    clearTimeout(this.resting);
    this.talk.ask("curve", {state: this.snapshot()}).then((reply) => {
      this.wiggle.hidden = !reply.arrays.factor;
      this.facts = reply; this.curve = reply.arrays; this.message.hidden = !reply.notes.length; this.message.textContent = reply.notes[0] ?? "";
      this.showErrors({training: reply.training});
      this.draw();
      if (this.queried !== null && this.queried !== undefined) this.ask(this.queried);
      this.resting = setTimeout(() => this.rest(), REST);
    }, (error) => this.failed(error));
    this.draw();
  }

  rest() {
    this.talk.ask("curve_errors", {state: this.snapshot()}).then((reply) => {
      this.showErrors({training: this.facts.training, left_out: reply.left_out, test: reply.test});
      this.showLeftOut(reply);
      this.settled = true;
    }, () => {});
  }

  failed(error) { if (!(error instanceof Superseded)) { this.message.textContent = error.message; this.message.hidden = false; this.curve = null; this.last = null; this.showErrors({}); this.loo.replaceChildren(); this.draw(); } }

  ask(x) {
    this.queried = x;
    if (x === null) { this.answer = null; this.showQuery(null); this.draw(); return; }
    this.talk.ask("query", {state: this.snapshot(), x}).then((reply) => { if (this.queried === null) return; this.answer = reply; this.showQuery(reply); this.draw(); }, () => {});
  }

  // --- showing ---------------------------------------------------------------------------------

  showErrors({training, left_out, test}) {
    if (left_out === undefined && training !== undefined && this.last) ({left_out, test} = this.last); else if (left_out !== undefined) this.last = {left_out, test};
    const one = (value, words) => h("div", {}, h("strong", {}, value === undefined || value === null ? "–" : value.toPrecision(3)), h("span", {}, words));
    this.numbers.replaceChildren(h("h2", {}, "Mean squared errors"), h("div", {class: "nums"}, one(training, "training"), one(left_out, "leaving one out"), one(test, "new points")));
  }

  showLeftOut({best, option, arrays}) {
    const {tried, errors} = arrays, low = Math.min(...errors.data), ratios = Array.from(errors.data, (v) => Math.log(Math.min(v / low, 20)));   // of errors above the least
    const here = this.state.options[option], at = Array.from(tried.data).reduce((b, v, i) => Math.abs(Math.log(v / here)) < Math.abs(Math.log(tried.data[b] / here)) ? i : b, 0);
    this.loo.replaceChildren(chart([h("b", {}, "Leaving one out"), `: least at ${number(best)} `], [{values: ratios, kind: "line"}], at, 560),
      h("button", {class: "link", onclick: () => { this.state.options[option] = Number(best.toPrecision(3)); this.slider.show(this.state.options[option]); this.changed(); }}, "Use this value"));
  }

  showQuery(found) {
    if (!found) { this.query_.replaceChildren(h("h2", {}, "This x"), h("p", {class: "note"}, "Move over the picture: the points that decide grow with their weight.")); return; }
    const slope = found.slope === undefined ? "" : `, slope ${number(found.slope)}`, w = [...found.arrays.weights.data], total = w.reduce((a, b) => a + Math.abs(b), 0) || 1;
    const half = [...w].map(Math.abs).sort((a, b) => b - a).reduce(([sum, n], v) => sum < total / 2 ? [sum + v, n + 1] : [sum, n], [0, 0])[1];
    this.query_.replaceChildren(h("h2", {}, `This x: f(${number(found.x)}) = ${number(found.value)}${slope}`),
      h("p", {class: "note"}, `${half} of ${w.length} points have half of the weight.`));
  }

  draw() { if (!this.pending) { this.pending = true; requestAnimationFrame(() => { this.pending = false; this.paint(); }); } }
  paint() {
    const got = this.window ? sized(this.canvas) : null;
    if (got) this.render(...got);
  }

  render(context, side) {
    const on = (x, y) => this.toScreen(x, y, side);
    context.fillStyle = css("--well"); context.fillRect(0, 0, side, side);
    context.lineCap = "round"; context.setLineDash([]);
    axes(context, side, [LOW, HIGH], this.window);
    const path = (values, grid) => { context.beginPath(); for (let i = 0; i < values.length; i++) { const [u, v] = on(grid[i], values[i]); i ? context.lineTo(u, v) : context.moveTo(u, v); } };
    if (this.curve) {
      const grid = this.curve.grid.data, {low, high, mean, truth} = this.curve;
      context.beginPath();
      for (let i = 0; i < grid.length; i++) { const [u, v] = on(grid[i], high.data[i]); i ? context.lineTo(u, v) : context.moveTo(u, v); }
      for (let i = grid.length - 1; i >= 0; i--) context.lineTo(...on(grid[i], low.data[i]));
      context.closePath(); context.globalAlpha = .1; context.fillStyle = css("--ink"); context.fill(); context.globalAlpha = 1;
      if (truth) { path(truth.data, grid); context.strokeStyle = css("--muted"); context.lineWidth = 1.2; context.setLineDash([4, 5]); context.stroke(); context.setLineDash([]); }
      this.samples.forEach((values, c) => { path(values, this.curve.few.data); context.strokeStyle = css(`--c${c}`); context.globalAlpha = .75; context.lineWidth = 1.6; context.stroke(); context.globalAlpha = 1; });
      path(mean.data, grid); context.strokeStyle = css("--ink"); context.lineWidth = 2.4; context.stroke();
    }
    const weights = this.answer?.arrays.weights.data, most = weights ? Math.max(...Array.from(weights, Math.abs), 1e-12) : 1;
    this.state.x.forEach((x, i) => {
      const [u, v] = on(x, this.state.y[i]), w = weights ? weights[i] / most : 0;
      context.beginPath(); context.arc(u, v, weights ? 3 + 7 * Math.sqrt(Math.abs(w)) : 4.5, 0, 2 * Math.PI);
      context.fillStyle = css(w < 0 ? "--c1" : "--c0"); context.globalAlpha = weights ? .35 + .65 * Math.min(1, Math.abs(w)) : 1; context.fill(); context.globalAlpha = 1;
      context.strokeStyle = css("--panel"); context.lineWidth = 1.2; context.stroke();
    });
    if (this.answer) {
      const [u, v] = on(this.answer.x, this.answer.value);
      context.strokeStyle = css("--muted"); context.lineWidth = 1; context.beginPath(); context.moveTo(u, 0); context.lineTo(u, side); context.stroke();
      if (this.answer.slope !== undefined) {
        const reach = 1.2, a = on(this.answer.x - reach, this.answer.value - reach * this.answer.slope), b = on(this.answer.x + reach, this.answer.value + reach * this.answer.slope);
        context.strokeStyle = css("--c1"); context.lineWidth = 3; context.beginPath(); context.moveTo(...a); context.lineTo(...b); context.stroke();
      }
      context.beginPath(); context.arc(u, v, 5.5, 0, 2 * Math.PI); context.fillStyle = css("--paper"); context.strokeStyle = css("--ink"); context.lineWidth = 2.4; context.fill(); context.stroke();
    }
  }

  get plane() { return this; }
  script() { return this.talk.ask("curve_script", {state: this.snapshot()}).then((reply) => reply.script); }
  csv() { return "x,y\n" + this.state.x.map((v, i) => `${v},${this.state.y[i]}\n`).join(""); }
  repaint() { this.draw(); }
}
