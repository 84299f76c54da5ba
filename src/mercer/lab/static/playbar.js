// Play, step and scrub through the visits of a perceptron; a tick for each mistake.
import {css, h, s} from "./dom.js";

const glyph = (d, width = 16) => s("svg", {width, height: 16, viewBox: `0 0 ${width} 16`, "aria-hidden": "true"}, s("path", {d, fill: "currentColor"}));
const PLAY = "M2 1v14l12-7z", PAUSE = "M3 1h4v14H3zM9 1h4v14H9z", STEP = "M2 2v12l8-6zM12 2h2.5v12H12z";

export class Playbar {
  constructor(onmoment) {
    this.onmoment = onmoment;
    this.visits = null;
    this.at = null;
    this.go_ = h("button", {class: "go", "aria-label": "Play", onclick: () => this.timer ? this.pause() : this.play()}, glyph(PLAY));
    this.step_ = h("button", {"aria-label": "One visit further", title: "One visit further", onclick: () => { this.pause(); this.go(this.at >= this.length ? 0 : this.at + 1); }}, glyph(STEP));
    this.canvas = h("canvas", {"aria-hidden": "true"});
    this.range = h("input", {type: "range", min: 0, step: 1, "aria-label": "Visit", oninput: () => { const t = Number(this.range.value); this.pause(); this.go(t); }});
    this.where = h("span", {class: "where"});
    this.element = h("div", {class: "play", hidden: true}, this.go_, this.step_, h("div", {class: "time"}, this.canvas, this.range), this.where);
    new ResizeObserver(() => this.ticks()).observe(this.canvas);
  }

  get length() { return this.visits ? this.visits.length : 0; }

  // Other visits: a picture that stood at the end stays at the end, one that plays goes on.
  set(visits) {
    const ended = this.at === null || this.at >= this.length;
    this.visits = visits;
    this.element.hidden = !visits;
    if (!visits) { this.pause(); this.at = null; return; }
    this.range.max = this.length;
    this.at = ended ? this.length : Math.min(this.at, this.length);
    this.ticks();
    this.show();
  }

  go(t) { this.at = t; this.show(); this.onmoment(t); }

  play() {
    if (this.at >= this.length) this.go(0);
    // The whole run takes about eight seconds, at least ten visits a second, on any machine.
    const perSecond = Math.max(10, this.length / 8), from = this.at, began = performance.now();
    const frame = (now) => {
      const t = Math.min(this.length, Math.floor(from + Math.max(0, now - began) / 1000 * perSecond));
      if (t !== this.at) this.go(t);
      if (this.at >= this.length) return this.pause();
      this.timer = requestAnimationFrame(frame);
    };
    this.timer = requestAnimationFrame(frame);
    this.show();
  }

  pause() { cancelAnimationFrame(this.timer); this.timer = null; this.show(); }

  show() {
    if (!this.visits) return;
    this.go_.replaceChildren(glyph(this.timer ? PAUSE : PLAY));
    this.go_.setAttribute("aria-label", this.timer ? "Pause" : "Play");
    this.range.value = this.at;
    this.range.style.setProperty("--done", `${100 * this.at / Math.max(1, this.length)}%`);
    const made = this.at ? this.visits.mistakes[this.at - 1] : 0;
    this.range.setAttribute("aria-valuetext", `visit ${this.at} of ${this.length}, ${made} mistakes`);
    this.where.replaceChildren("visit ", h("b", {}, String(this.at)), ` of ${this.length}, `, h("b", {}, String(made)), ` mistake${made === 1 ? "" : "s"}`);
  }

  ticks() {
    const width = this.canvas.clientWidth, ratio = devicePixelRatio || 1;
    if (!width || !this.visits) return;
    if (this.canvas.width !== Math.round(width * ratio)) { this.canvas.width = Math.round(width * ratio); this.canvas.height = 12 * ratio; }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, 12);
    context.fillStyle = css("--muted");
    for (const {t} of this.visits.changes) context.fillRect((t - 1) / Math.max(1, this.length) * width, 2, 1.5, 8);
  }
}
