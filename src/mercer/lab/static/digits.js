// Digits: draw one, and see who recognizes it, by which images, and how far it may be turned.
import {css, h, number, slider} from "./dom.js";
import {Judges} from "./judges.js";
import * as address from "./address.js";

// Strokes lie on a grid of 1/250, so that the address holds all of them.
const GRID = 250, SIDE = 8, FINE = 160, PEN = 15, ANGLES = Array.from({length: 25}, (_, i) => 15 * (i - 12));
// A first drawing, so that nobody meets an empty page: a 3, in strokes from 0 to 1.
const THREE = [[[.3, .24], [.42, .17], [.58, .17], [.68, .27], [.66, .38], [.55, .46], [.46, .48], [.6, .51], [.7, .6], [.68, .74], [.56, .83], [.4, .82], [.29, .74]]];

// The digits that the page offers, 0 to 9: points in hundredths of the square, strokes apart by "/".
const PRINTED = [
  "50,17 45,18 40,21 36,27 33,34 31,42 30,50 31,58 33,66 36,73 40,79 45,82 50,83 55,82 60,79 64,73 67,66 69,58 70,50 69,42 67,34 64,27 60,21 55,18 50,17",
  "42,28 54,16 53,84/40,84 66,84",
  "34,27 36,23 40,19 44,17 49,16 54,16 58,18 62,21 65,25 67,30 67,35 66,40 63,44 34,82 70,82",
  "33,25 37,21 42,18 48,17 54,18 59,21 63,25 65,30 65,36 63,41 59,45 54,48 48,49 48,49 55,50 60,53 64,57 67,63 67,69 64,74 60,79 55,82 48,83 42,82 36,79 32,74",
  "52,16 28,58 72,58/60,40 58,86",
  "68,17 38,17 36,46 40,46 46,43 54,44 61,47 66,53 68,60 67,68 64,75 58,80 52,83 44,82 37,79 32,73",
  "50,12 38,36 34,62 40,80 54,84 66,74 64,62 52,56 38,64",
  "32,20 66,16 58,46 46,86/36,52 72,48",
  "50,47 55,46 59,43 62,38 63,32 62,26 59,21 55,18 50,17 45,18 41,21 38,26 37,32 38,38 41,43 45,46 50,47 50,49 56,50 61,54 65,60 66,67 65,74 61,80 56,84 50,85 44,84 39,80 35,74 34,67 35,60 39,54 44,50 50,49",
  "67,34 66,28 62,22 56,18 50,17 44,18 38,22 34,28 33,34 34,40 38,46 44,50 50,51 56,50 62,46 66,40 67,34 66,50 60,70 46,86",
].map((digit) => digit.split("/").map((stroke) => stroke.split(" ").map((point) => point.split(",").map((v) => Number(v) / 100))));
// The part of the square that is seen where drawings are not cut out: a digit in the middle fills it.
const FRAME = .74;

export class Digits {
  constructor(lab, given) {
    this.lab = lab;
    this.talk = lab.talk;
    this.strokes = this.unpack(given.strokes) ?? THREE;
    this.asDrawn = given.as === "drawn";
    this.shift = Math.min(.3, Math.max(-.3, Number(given.shift) || 0));
    this.angle = Math.min(180, Math.max(-180, Number(given.angle) || 0));
    this.canvas = h("canvas", {tabindex: 0, role: "application", "aria-label": "Draw a digit here with the mouse, a finger or a pen. Keys 0 to 9 draw a printed digit, Delete clears."});
    this.seen = h("canvas", {role: "img", "aria-label": "The drawing as the learners see it, 8 by 8 pixels"});
    this.answers = h("div", {class: "answers"});
    this.message = h("p", {class: "message", hidden: true, role: "status"});
    lab.place.replaceChildren(lab.judges ? "" : h("h1", {}, "Draw a digit"),
      h("div", {}, h("div", {class: "tools", role: "toolbar", "aria-label": "Draw"}, h("button", {onclick: () => { this.strokes = this.strokes.slice(0, -1); this.changed(); }}, "Undo"),
        h("button", {onclick: () => { this.strokes = []; this.changed(); }}, "Clear"), h("span", {class: "hint"}, "Draw with the mouse, a finger or a pen")),
        h("div", {class: "stage"}, this.canvas, this.message)),
      h("aside", {}, h("section", {"aria-label": "As they see it"}, h("h2", {}, "As the learners see it"), h("div", {class: "seen"}, this.seen,
        h("div", {}, this.slider = slider({label: "turn", words: "turned by °", low: -180, high: 180, value: this.angle, usual: 0, oninput: (v) => { this.angle = Math.round(v); this.changed(); }}),
          slider({label: "shift", words: "moved aside", low: -.3, high: .3, value: this.shift, usual: 0, oninput: (v) => { this.shift = v; this.changed(); }}),
          h("label", {class: "tick"}, h("input", {type: "checkbox", checked: this.asDrawn, onchange: (event) => { this.asDrawn = event.target.checked; this.changed(); }}), "as drawn: do not center and scale"),
          h("p", {class: "note"}, "Turn it, or move it aside as drawn: who still knows it?")))), this.answers));
    for (const canvas of [this.canvas]) new ResizeObserver(() => this.repaint()).observe(canvas);
    this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); this.held = true; this.strokes = [...this.mine(), [this.at(event)]]; this.repaint(); });
    this.canvas.addEventListener("pointermove", (event) => { if (!this.held) return; const stroke = this.strokes.at(-1), [x, y] = this.at(event), [u, v] = stroke.at(-1); if (Math.hypot(x - u, y - v) < 3 / GRID) return; stroke.push([x, y]); this.repaint(); this.changed(); });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { this.held = false; this.changed(); });
    this.canvas.addEventListener("keydown", (event) => {
      if (/^[0-9]$/.test(event.key)) this.strokes = [{text: event.key}];
      else if (event.key === "Delete" || event.key === "Backspace") this.strokes = [];
      else return;
      event.preventDefault(); this.changed();
    });
    this.changed();
  }

  at(event) { const box = this.canvas.getBoundingClientRect(); return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((v) => Math.round(GRID * Math.min(1, Math.max(0, v))) / GRID); }

  // The strokes that were drawn by hand: the first one takes the place of the example.
  mine() { return this.strokes === THREE ? [] : this.strokes.filter((stroke) => !stroke.text); }

  // Ink on a square of some side, turned by some degrees around its middle.
  ink(context, side, angle, style) {
    context.save();
    context.translate(side / 2, side / 2); context.rotate(angle * Math.PI / 180); context.translate(-side / 2, -side / 2);
    context.translate(this.shift * side, 0);
    context.strokeStyle = context.fillStyle = style; context.lineWidth = PEN / FINE * side; context.lineCap = context.lineJoin = "round";
    for (const stroke of this.strokes.flatMap((one) => one.text ? PRINTED[one.text] : [one])) {
      context.beginPath();
      const at = (i) => stroke[Math.min(i, stroke.length - 1)].map((v) => v * side), middle = (i) => at(i).map((v, k) => (v + at(i + 1)[k]) / 2);
      context.moveTo(...at(0));
      for (let i = 1; i + 1 < stroke.length; i++) context.quadraticCurveTo(...at(i), ...(i + 2 < stroke.length ? middle(i) : at(i + 1)));
      if (stroke.length < 3) context.lineTo(at(1)[0] + .1, at(1)[1]);
      context.stroke();
    }
    context.restore();
  }

  // The drawing at an angle as 64 numbers: ink per cell, cut out around its middle as the data are.
  pixels(angle) {
    this.scratch ??= h("canvas", {width: FINE, height: FINE});
    const context = this.scratch.getContext("2d", {willReadFrequently: true});
    context.fillStyle = "#000"; context.fillRect(0, 0, FINE, FINE);
    this.ink(context, FINE, angle, "#fff");
    const data = context.getImageData(0, 0, FINE, FINE).data;
    let low = FINE, high = -1, left = FINE, right = -1;
    for (let y = 0; y < FINE; y++) for (let x = 0; x < FINE; x++) if (data[4 * (y * FINE + x)] > 100) { low = Math.min(low, y); high = Math.max(high, y); left = Math.min(left, x); right = Math.max(right, x); }
    if (high < 0) return null;
    const size = this.asDrawn ? FRAME * FINE : Math.max(high - low, right - left, FINE / 4) + 4;
    const [x0, y0] = this.asDrawn ? [(FINE - size) / 2, (FINE - size) / 2] : [(left + right - size) / 2, (low + high - size) / 2], out = [], step = size / SIDE;
    for (let j = 0; j < SIDE; j++) for (let i = 0; i < SIDE; i++) {
      let sum = 0, n = 0;
      for (let y = y0 + j * step; y < y0 + (j + 1) * step; y++) for (let x = x0 + i * step; x < x0 + (i + 1) * step; x++) {
        const u = Math.round(x), v = Math.round(y);
        n++; if (u >= 0 && v >= 0 && u < FINE && v < FINE) sum += data[4 * (v * FINE + u)] / 255;
      }
      out.push(Math.round(1e4 * Math.min(1, 1.25 * sum / n)) / 1e4);
    }
    return out;
  }

  changed() {
    this.repaint();
    this.settled = false;
    if (!this.lab.judges) address.write("digits", this.snapshot());
    const first = this.pixels(this.angle);
    this.first = first;
    this.drawSeen();
    if (!first) { this.answers.replaceChildren(); return; }
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.message.textContent = "Learning 500 digits …"; this.message.hidden = Boolean(this.judges);
      this.learned().then((judges) => {
        this.judges = judges; this.message.hidden = true; this.settled = true;
        this.reply = {answers: judges.answers([first, ...ANGLES.map((a) => this.pixels(a)).map((p) => p ?? first)])};
        this.show(this.reply);
      }, (error) => { this.learning = null; this.message.textContent = error.message; this.message.hidden = false; });
    }, 60);
  }

  // Those who judge: a page of its own brings them, the laboratory sends what they learn from.
  learned() {
    if (this.lab.judges) return Promise.resolve(this.lab.judges);
    return this.learning ??= this.talk.ask("digits", {}).then((reply) => new Judges(reply.arrays.images.data, reply.labels));
  }

  show(reply) {
    this.answers.replaceChildren(...reply.answers.map(({name, title, said, voters}) => {
      const right = said[1 + 12];
      const picture = (values) => { const canvas = h("canvas", {width: SIDE, height: SIDE, "aria-hidden": "true"}); gray(canvas, values); return canvas; };
      return h("section", {"aria-label": title}, h("div", {class: "judge"},
        h("div", {}, h("h2", {}, title), h("strong", {class: "digit"}, String(said[0]))),
        h("div", {}, h("div", {class: "voters"}, ...voters.map((v, i) => h("figure", {title: `a ${v.label}`, class: name !== "tangent" && i >= 4 ? "against" : ""}, picture(v.image), h("figcaption", {}, name === "tangent" ? number(v.weight, 2) : `${v.weight < 0 ? "−" : "+"}${Math.abs(v.weight) < 1000 ? number(Math.abs(v.weight), 2) : `${number(Math.abs(v.weight) / 1000, 2)}k`}`)))),
          h("p", {class: "note"}, name === "tangent" ? "the nearest images, and how far they are" : "four images that spoke for it, and four against"),
          h("div", {class: "dial", role: "img", "aria-label": `Answers when turned from −180 to 180 degrees: ${said.slice(1).join(" ")}`}, ...said.slice(1).map((v, i) => h("span", {class: v === right ? "same" : "", title: `${ANGLES[i]}°`}, String(v)))))));
    }), h("p", {class: "note"}, "The row of digits: the answers when the drawing is turned from −180° to 180°, in steps of 15°. Bold where it is still what it was upright."));
  }

  drawSeen() {
    this.seen.width = this.seen.height = SIDE;
    gray(this.seen, this.first ?? new Array(64).fill(0));
  }

  repaint() {
    const side = this.canvas.clientWidth, pixels = Math.round(side * (devicePixelRatio || 1));
    if (!side) return;
    if (this.canvas.width !== pixels || this.canvas.height !== pixels) this.canvas.width = this.canvas.height = pixels;
    const context = this.canvas.getContext("2d");
    context.setTransform(pixels / side, 0, 0, pixels / side, 0, 0);
    this.render(context, side);
    this.drawSeen();
  }
  render(context, side) { context.fillStyle = css("--well"); context.fillRect(0, 0, side, side); this.ink(context, side, this.angle, css("--ink")); }

  pack() { return this.strokes === THREE ? null : this.strokes.map((s) => s.text ? `t${s.text}` : `s${address.written(new Uint8Array(s.flat().map((v) => Math.round(GRID * v))))}`).join("."); }
  unpack(text) {
    try {
      const strokes = (text ?? "").split(".").map((part) => {
        if (/^t[0-9]$/.test(part)) return {text: part[1]};
        const flat = [...new Uint8Array(address.readBytes(part.slice(1)))].map((v) => v / GRID);
        return Array.from({length: flat.length / 2}, (_, i) => flat.slice(2 * i, 2 * i + 2));
      });
      return strokes.every((one) => one.text || one.length) ? strokes : null;
    } catch { return null; }
  }

  // What the address holds, as texts.
  snapshot() { return Object.fromEntries(Object.entries({strokes: this.pack(), angle: this.angle, shift: this.shift, as: this.asDrawn && "drawn"}).filter(([, v]) => v).map(([name, v]) => [name, String(v)])); }
  script() { return this.first ? this.talk.ask("digits_script", {image: this.first}).then((reply) => reply.script) : Promise.reject(new Error("Draw a digit first")); }
  csv() { return (this.first ?? []).join(",") + "\n"; }
  get plane() { return this; }
}

function gray(canvas, values) {
  const context = canvas.getContext("2d"), image = context.createImageData(SIDE, SIDE), dark = document.documentElement.dataset.theme === "dark";
  for (let i = 0; i < SIDE * SIDE; i++) { const v = 255 * (dark ? values[i] : 1 - values[i]); image.data.set([v, v, v, 255], 4 * i); }
  context.putImageData(image, 0, 0);
}
