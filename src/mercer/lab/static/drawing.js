// Drawing points: click, drag, brush, erase, undo, and the same by keyboard.
import {h, s} from "./dom.js";
import {icon, nameOf} from "./marks.js";

const round = (v) => Math.round(v * 1e4) / 1e4;
const stroke = (d) => s("svg", {viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": "1.6", "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true"}, s("path", {d}));

export class Drawing {
  // `onedit(X, y)` with new points; `onhover(x | null)` with the pixel under the pointer.
  constructor(plane, limits, {onedit, onhover, onview = () => {}}) {
    Object.assign(this, {plane, limits, onedit, onhover, onview, tool: "point", current: 0, classes: 2, past: [], future: []});
    this.bar = h("div", {class: "tools", role: "toolbar", "aria-label": "Draw"});
    this.lens = h("div", {class: "lens"});   // goes into the picture's corner
    const canvas = plane.canvas;
    canvas.tabIndex = 0;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => this.up());
    canvas.addEventListener("pointercancel", () => this.up());
    canvas.addEventListener("pointerleave", (event) => { if (!this.held && event.pointerType !== "touch") this.onhover(null); });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey && !plane.zooms) return; event.preventDefault(); this.zoom(1.0015 ** event.deltaY, ...this.at(event)); }, {passive: false});
    canvas.addEventListener("blur", () => { plane.cursor = null; plane.draw(); });
    this.show();
  }

  show() {
    this.lens.replaceChildren(
      ...(this.plane.window ? [h("button", {"aria-label": "The whole plane", title: "The whole plane", onclick: () => { this.plane.whole(); this.viewed(); }}, "All")] : []),
      h("button", {"aria-label": "Nearer", title: "Nearer; Shift and drag moves the picture", onclick: () => this.zoom(.7)}, stroke("M8 4v8M4 8h8")),
      h("button", {"aria-label": "Farther", title: "Farther", onclick: () => this.zoom(1 / .7)}, stroke("M4 8h8")));
    const present = Math.max(this.classes, ...this.plane.points.y.map((c) => c + 1));
    this.classes = present;
    const choose = (tool, label, path) => h("button", {"aria-pressed": String(this.tool === tool), title: label, "aria-label": label,
      onclick: () => { this.tool = this.tool === tool ? "point" : tool; this.show(); }}, path ? stroke(path) : label);
    this.bar.replaceChildren(
      ...Array.from({length: present}, (_, c) => h("button", {"aria-pressed": String(this.tool !== "erase" && this.current === c), "aria-label": `Draw ${nameOf(c)}`, title: nameOf(c),
        onclick: () => { this.current = c; if (this.tool === "erase") this.tool = "point"; this.show(); }}, icon(c))),
      ...(present < this.limits.classes ? [h("button", {"aria-label": "Add a class", title: "Add a class", onclick: () => { this.current = this.classes++; this.tool = "point"; this.show(); }}, "+")] : []),
      choose("brush", "Brush"), choose("erase", "Erase"), choose("look", "Look"),
      h("button", {disabled: !this.past.length, onclick: () => this.undo()}, "Undo"),
      h("button", {disabled: !this.plane.points.y.length, onclick: () => this.commit([], [])}, "Clear"),
      ...(present > 2 ? [] : [h("span", {class: "hint"}, {point: "Click adds, drag moves", brush: "Drag to paint points", erase: "Drag over points", look: "Drag to see why"}[this.tool])]));
  }

  // Points that did not come from drawing: nothing to undo.
  reset() { this.past = []; this.future = []; this.classes = 2; this.current = Math.min(this.current, 1); this.show(); }

  remember() { this.past.push(this.copy()); this.past = this.past.slice(-100); this.future = []; }
  copy() { const {X, y} = this.plane.points; return {X: [...X], y: [...y]}; }
  commit(X, y) { this.remember(); this.onedit(X, y); this.show(); }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    this.future.push(this.copy());
    this.onedit(before.X, before.y);
    this.show();
  }
  redo() {
    const after = this.future.pop();
    if (!after) return;
    this.past.push(this.copy());
    this.onedit(after.X, after.y);
    this.show();
  }

  zoom(factor, px = this.plane.canvas.clientWidth / 2, py = px) { this.plane.zoom(factor, px, py); this.viewed(); }
  viewed() { this.onview(); const shown = this.lens.querySelector("[aria-label='The whole plane']") !== null; if (shown !== (this.plane.window !== null)) this.show(); }

  at(event) {
    const box = this.plane.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    if (event.button > 1) return;
    this.plane.canvas.setPointerCapture(event.pointerId);
    if (event.shiftKey || event.button === 1) { this.grip = [...this.at(event), ...this.plane.middle]; return; }
    const [px, py] = this.at(event), hit = this.plane.hit(px, py, event.pointerType === "touch" ? 18 : 10);
    if (this.once) { this.answer(this.plane.toData(px, py)); return; }
    if (this.tool === "look") { this.onhover(this.plane.toData(px, py)); return; }
    this.remember();
    this.held = {hit, moved: false, last: null};
    if (this.tool === "erase") this.erase(px, py);
    else if (this.tool === "brush") this.paint(px, py);
    else if (hit < 0) { this.add(...this.plane.toData(px, py), this.current); this.held.hit = this.plane.points.y.length - 1; }
    this.onhover(null);
  }

  // A click that is an answer, and no point.
  answer(x) { const {once} = this; this.once = null; this.plane.cursor = x; once(x); }

  move(event) {
    const [px, py] = this.at(event);
    if (this.grip) { const unit = 2 * this.plane.half / this.plane.canvas.clientWidth, [gx, gy, x, y] = this.grip; this.plane.pan(x - (px - gx) * unit, y + (py - gy) * unit); this.viewed(); return; }
    if (!this.held) { if (event.pointerType !== "touch" || this.tool === "look") this.onhover(this.plane.toData(px, py)); return; }
    if (this.tool === "erase") this.erase(px, py);
    else if (this.tool === "brush") this.paint(px, py);
    else if (this.held.hit >= 0) {
      const {X, y} = this.copy(), [x, yy] = this.plane.toData(px, py).map((v, k) => Math.min(this.plane.center[k] + 2 * this.plane.view, Math.max(this.plane.center[k] - 2 * this.plane.view, v)));
      X[2 * this.held.hit] = round(x); X[2 * this.held.hit + 1] = round(yy);
      this.onedit(X, y);
    }
  }

  up() { this.grip = null; if (this.held) { this.held = null; this.show(); } }

  add(x, y, c) {
    const points = this.copy();
    if (points.y.length >= this.limits.points) return;
    points.X.push(round(x), round(y)); points.y.push(c);
    this.onedit(points.X, points.y);
  }

  paint(px, py) {
    if (this.held.last && Math.hypot(px - this.held.last[0], py - this.held.last[1]) < 14) return;
    this.held.last = [px, py];
    const spread = () => (Math.random() + Math.random() - 1) * 22;
    this.add(...this.plane.toData(px + spread(), py + spread()), this.current);
  }

  erase(px, py) {
    const {X, y} = this.copy(), kept = y.map((_, i) => i).filter((i) => {
      const [x, yy] = this.plane.toScreen(X[2 * i], X[2 * i + 1]);
      return Math.hypot(x - px, yy - py) > 14;
    });
    if (kept.length < y.length) this.onedit(kept.flatMap((i) => [X[2 * i], X[2 * i + 1]]), kept.map((i) => y[i]));
  }

  key(event) {
    const plane = this.plane, step = (event.shiftKey ? .2 : .05) * plane.half;
    const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") { event.shiftKey ? this.redo() : this.undo(); event.preventDefault(); return; }
    if (event.key in moves) {
      const [x, y] = plane.cursor ?? [0, 0];
      plane.cursor = moves[event.key].map((d, i) => Math.min(plane.middle[i] + plane.half, Math.max(plane.middle[i] - plane.half, [x, y][i] + step * d)));
      plane.draw();
      this.onhover(plane.cursor);
    } else if ((event.key === "Enter" || event.key === " ") && plane.cursor && this.once) this.answer(plane.cursor);
    else if ((event.key === "Enter" || event.key === " ") && plane.cursor) { this.remember(); this.add(...plane.cursor, this.current); this.show(); }
    else if ((event.key === "Delete" || event.key === "Backspace") && plane.cursor) { this.remember(); this.erase(...plane.toScreen(...plane.cursor)); this.show(); }
    else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? .7 : 1 / .7);
    else if (/^[0-9]$/.test(event.key)) { const c = (Number(event.key) + 9) % 10; if (c < this.classes) { this.current = c; this.show(); } }
    else return;
    event.preventDefault();
  }
}
