// The picture: a field of scores with its contours, the points on it, and the lines of one pixel.
import {css, rgb, sized} from "./dom.js";
import {axes} from "./axes.js";
import {color, trace} from "./marks.js";
import {contour, joined} from "./contours.js";

export class Plane {
  constructor(canvas, view, center = [0, 0]) {
    this.canvas = canvas;
    this.view = view; this.center = center;
    this.middle = center; this.half = view;   // what is seen: all of it at first
    this.image = document.createElement("canvas");
    this.field = null;          // {size, outputs, data, gives, margins}
    this.points = {X: [], y: []};
    this.alpha = null;          // size of α per point, for bold outlines
    this.visited = -1;          // the point that a perceptron looks at
    this.pixel = null;          // {x, lines: [{index, share, toward}]}
    this.witnesses = null;      // points of a counterexample, with c
    this.cursor = null;         // of the keyboard
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // Coordinates of the data in pixels of the picture, and back.
  toScreen(x, y, side = this.canvas.clientWidth) {
    return [((x - this.middle[0]) / this.half + 1) * side / 2, (1 - (y - this.middle[1]) / this.half) * side / 2];
  }
  toData(px, py, side = this.canvas.clientWidth) {
    return [this.middle[0] + (2 * px / side - 1) * this.half, this.middle[1] + (1 - 2 * py / side) * this.half];
  }

  // What is seen, as the server reads it; null for all of it.
  get window() { return this.half === this.view && this.middle.every((v, k) => v === this.center[k]) ? null : [...this.middle, this.half]; }

  // Nearer by a factor, so that (px, py) stays where it is; the middle stays near the points.
  zoom(factor, px, py) {
    const [x, y] = this.toData(px, py), half = Math.min(2 * this.view, Math.max(this.view / 15, this.half * factor)), part = half / this.half;
    this.half = Math.abs(half - this.view) < .02 * this.view ? this.view : half;
    this.pan(x + (this.middle[0] - x) * part, y + (this.middle[1] - y) * part);
  }
  pan(x, y) {
    const {view, center} = this, away = [x - center[0], y - center[1]];
    this.middle = this.half === view && Math.hypot(...away) < view / 50 ? center : away.map((v, k) => center[k] + Math.min(view, Math.max(-view, v)));
    this.draw();
  }
  whole() { this.middle = this.center; this.half = this.view; this.draw(); }

  // How far x is from where the score changes its sign; null where it never does.
  toLine([x, y]) {
    const {size, data} = this.field, unit = 2 * this.half / (size - 1), here = (i, j) => data[j * size + i] > 0;
    let least = Infinity;
    for (let j = 0; j < size; j++) for (let i = 0; i < size; i++) for (const [di, dj] of [[1, 0], [0, 1]]) {
      if (i + di >= size || j + dj >= size || here(i, j) === here(i + di, j + dj)) continue;
      least = Math.min(least, Math.hypot(this.middle[0] - this.half + (i + di / 2) * unit - x, this.middle[1] + this.half - (j + dj / 2) * unit - y));
    }
    return least === Infinity ? null : least;
  }

  // How large a score is at the points: what the shading is relative to.
  scaleOf(field) {
    const {size, outputs, data} = field, {X, y} = this.points;
    let sum = 0;
    for (let i = 0; i < y.length; i++) {
      const column = Math.round(((X[2 * i] - this.middle[0]) / this.half + 1) / 2 * (size - 1));
      const row = Math.round((1 - (X[2 * i + 1] - this.middle[1]) / this.half) / 2 * (size - 1));
      const at = Math.min(size - 1, Math.max(0, row)) * size + Math.min(size - 1, Math.max(0, column));
      sum += outputs === 1 ? Math.abs(data[at]) : strength(data, at, size * size, outputs)[1];
    }
    return sum / Math.max(1, y.length) || 1;
  }

  draw() { if (!this.pending) { this.pending = true; requestAnimationFrame(() => { if (this.pending) this.paint(); }); } }

  paint() {
    this.pending = false;
    const got = sized(this.canvas);
    if (got) this.render(...got);
  }

  // Draws on anything that has the methods of a canvas: the screen, a PNG, an SVG.
  render(context, side) {
    context.fillStyle = css("--well");
    context.fillRect(0, 0, side, side);
    if (this.field) this.surface(context, side);
    if (this.axes) axes(context, side, ...this.middle.map((v) => [v - this.half, v + this.half]));
    this.lines(context, side);
    this.dots(context, side);
    if (this.metrics) this.ellipse(context, side);
    if (this.witnesses) this.refutation(context, side);
    if (this.cursor) this.crosshair(context, side);
  }

  // Points that a learned metric holds equally far from the middle, after each round: the last one bold.
  ellipse(context, side) {
    const [cx, cy] = this.toScreen(0, 0, side), unit = side / (2 * this.half);
    this.metrics.forEach(([a, b, d], round) => {
      const last = round === this.metrics.length - 1, mean = (a + d) / 2, apart = Math.hypot((a - d) / 2, b), turn = .5 * Math.atan2(2 * b, a - d);
      const ratio = Math.sqrt((mean + apart) / Math.max(mean - apart, 1e-4 * mean)), short = Math.min(.45, 1.2 / ratio), long = short * ratio;   // all of it is seen
      context.beginPath();
      for (let k = 0; k <= 64; k++) {
        const t = k / 32 * Math.PI, u = short * Math.cos(t), v = long * Math.sin(t);
        const x = u * Math.cos(turn) - v * Math.sin(turn), y = u * Math.sin(turn) + v * Math.cos(turn);
        k ? context.lineTo(cx + unit * x, cy - unit * y) : context.moveTo(cx + unit * x, cy - unit * y);
      }
      context.strokeStyle = css("--ink"); context.lineWidth = last ? 2.4 : 1; context.globalAlpha = last ? 1 : .35;
      context.setLineDash(last ? [] : [3, 4]); context.stroke(); context.setLineDash([]); context.globalAlpha = 1;
    });
  }

  surface(context, side) {
    const {size, outputs, data, gives, classes} = this.field, cells = size * size;
    const scale = gives === "score" ? this.scaleOf(this.field) : 1;
    const dark = document.documentElement.dataset.theme === "dark";
    const ground = rgb(css("--well")), colors = classes.map((c) => rgb(color(c))), most = dark ? .5 : .48;
    const shade = gives === "log-odds" ? (v) => Math.tanh(v / 2) : gives === "share" ? (v) => v : (v) => Math.tanh(1.1 * v / scale);
    this.image.width = this.image.height = size;
    const inside = this.image.getContext("2d"), pixels = inside.createImageData(size, size);
    for (let i = 0; i < cells; i++) {
      let which, amount;
      if (outputs === 1) { which = data[i] > 0 ? 1 : 0; amount = Math.abs(shade(data[i])); }
      else { [which, amount] = strength(data, i, cells, outputs); amount = Math.abs(shade(amount)); }
      const tone = colors[which], part = Math.min(1, amount) * most;
      for (let j = 0; j < 3; j++) pixels.data[4 * i + j] = ground[j] + (tone[j] - ground[j]) * part;
      pixels.data[4 * i + 3] = 255;
    }
    inside.putImageData(pixels, 0, 0);
    // The corners of the lattice are the corners of the picture, so the outer half pixels hang over.
    const cell = side / (size - 1);
    context.imageSmoothingEnabled = true;   // at its usual quality: a better one takes longer than all the rest
    context.drawImage(this.image, -cell / 2, -cell / 2, side + cell, side + cell);
    if (this.field.doubt) this.halftone(context, side);
    context.strokeStyle = css("--ink");
    context.lineCap = context.lineJoin = "round";
    if (outputs === 1) {
      const levels = gives === "log-odds" ? [-2.2, -1.1, 1.1, 2.2] : gives === "share" ? [-.8, -.4, .4, .8] : [-1.2, -.6, .6, 1.2].map((v) => v * scale);
      if (this.field.margins) {
        context.setLineDash([5, 5]);
        for (const level of [-1, 1]) this.strokeContour(context, data, level, cell, 1.2, .7);
        context.setLineDash([]);
      } else for (const level of levels) this.strokeContour(context, data, level, cell, 1, .16);
      // A function that touches 0 and goes back has no side to cross to: no line is drawn for it.
      let low = Infinity, high = -Infinity;
      for (let i = 0; i < cells; i++) { if (data[i] < low) low = data[i]; if (data[i] > high) high = data[i]; }
      if (Math.min(-low, high) > 1e-6 * Math.max(-low, high)) this.strokeContour(context, data, 0, cell, 2.4, 1);
    } else {
      const margin = new Float32Array(cells);
      for (let c = 0; c < outputs; c++) {
        for (let i = 0; i < cells; i++) {
          let other = -Infinity;
          for (let o = 0; o < outputs; o++) if (o !== c && data[o * cells + i] > other) other = data[o * cells + i];
          margin[i] = data[c * cells + i] - other;
        }
        this.strokeContour(context, margin, 0, cell, 2, 1);
      }
    }
    context.globalAlpha = 1;
  }

  // Dots that grow with what is not known: from 0 at a point to 1 where no point is near.
  halftone(context, side) {
    const {shape: [size], data} = this.field.doubt, count = 46, step = side / count;
    context.beginPath();
    for (let j = 0; j < count; j++) for (let i = 0; i < count; i++) {
      const at = (k) => Math.round((k + .5) / count * (size - 1)), r = .26 * step * Math.max(0, data[at(j) * size + at(i)] - .3);
      const x = (i + .5) * step, y = (j + .5) * step;
      if (r > .2) { context.moveTo(x + r, y); context.arc(x, y, r, 0, 2 * Math.PI); }
    }
    context.fillStyle = css("--muted"); context.globalAlpha = .5; context.fill(); context.globalAlpha = 1;
  }

  strokeContour(context, values, level, cell, width, opacity) {
    context.globalAlpha = opacity;
    context.lineWidth = width;
    context.beginPath();
    for (const line of joined(contour(values, this.field.size, level))) {
      context.moveTo(line[0] * cell, line[1] * cell);
      for (let i = 2; i < line.length; i += 2) context.lineTo(line[i] * cell, line[i + 1] * cell);
    }
    context.stroke();
  }

  lines(context, side) {
    if (!this.pixel) return;
    const [px, py] = this.toScreen(...this.pixel.x, side);
    const most = Math.max(...this.pixel.lines.map((l) => Math.abs(l.share)), 1e-12);
    context.lineCap = "round";
    const thick = 7 * Math.min(1, Math.sqrt(8 / Math.max(1, this.pixel.lines.length)));   // many lines are thin ones
    for (const {index, share, toward} of this.pixel.lines) {
      const [x, y] = this.toScreen(this.points.X[2 * index], this.points.X[2 * index + 1], side);
      context.strokeStyle = color(toward);
      context.lineWidth = thick * Math.abs(share) / most;
      if (context.lineWidth < .25) continue;
      context.beginPath(); context.moveTo(px, py); context.lineTo(x, y); context.stroke();
    }
  }

  dots(context, side) {
    const {X, y} = this.points, size = side / 600, tones = new Map([...new Set(y)].map((c) => [c, color(c)])), ink = css("--ink"), panel = css("--panel");
    const order = y.map((_, i) => i).sort((a, b) => this.weight(a) - this.weight(b));
    for (const i of order) {
      const bold = this.weight(i) > 0, [px, py] = this.toScreen(X[2 * i], X[2 * i + 1], side);
      const r = (bold ? 7 : 5) * Math.max(.85, size);
      trace(context, y[i], px, py, r);
      context.fillStyle = tones.get(y[i]);
      context.strokeStyle = bold ? ink : panel;
      context.lineWidth = bold ? 2.2 : 1.3;
      context.fill(); context.stroke();
      if (i === this.visited) {
        context.beginPath(); context.arc(px, py, r + 7, 0, 2 * Math.PI);
        context.strokeStyle = ink; context.lineWidth = 2; context.stroke();
      }
    }
    if (this.pixel) {
      const [px, py] = this.toScreen(...this.pixel.x, side);
      context.beginPath(); context.arc(px, py, 5.5, 0, 2 * Math.PI);
      context.fillStyle = css("--paper"); context.strokeStyle = css("--ink"); context.lineWidth = 2.4;
      context.fill(); context.stroke();
    }
  }

  weight(i) { return this.alpha ? Math.abs(this.alpha[i] ?? 0) : 0; }

  refutation(context, side) {
    context.font = `600 13px ${css("--mono")}`;
    context.textAlign = "start"; context.textBaseline = "alphabetic";
    const taken = this.witnesses.map(({x}) => this.toScreen(x[0], x[1], side)), wide = (c) => 8 * String(c).length;
    for (const {x, c} of this.witnesses) {
      const [px, py] = this.toScreen(x[0], x[1], side);
      context.beginPath(); context.arc(px, py, 9, 0, 2 * Math.PI);
      context.strokeStyle = css("--ink"); context.lineWidth = 2; context.setLineDash([3, 3]); context.stroke(); context.setLineDash([]);
      // The first place beside the mark that is inside the picture and free of other marks and labels.
      const places = [[13, 4], [-13 - wide(c), 4], [-wide(c) / 2, -15], [-wide(c) / 2, 24]].map(([dx, dy]) => [px + dx, py + dy]);
      const free = ([u, v]) => u > 2 && u + wide(c) < side - 2 && v > 12 && v < side - 4 && taken.every(([tx, ty]) => (tx === px && ty === py) || u + wide(c) < tx - 10 || u > tx + 10 || Math.abs(v - 4 - ty) > 14);
      const [u, v] = places.find(free) ?? places[0];
      for (let k = 0; k <= wide(c); k += 12) taken.push([u + k, v - 4]);
      context.fillStyle = css("--ink"); context.fillText(c, u, v);
    }
  }

  crosshair(context, side) {
    const [px, py] = this.toScreen(...this.cursor, side);
    context.strokeStyle = css("--ink"); context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) { context.moveTo(px + 5 * dx, py + 5 * dy); context.lineTo(px + 13 * dx, py + 13 * dy); }
    context.stroke();
  }

  // The index of the point under a pixel of the screen, or −1.
  hit(px, py, reach = 10) {
    const {X, y} = this.points;
    let best = -1, nearest = reach * reach;
    for (let i = 0; i < y.length; i++) {
      const [x, yy] = this.toScreen(X[2 * i], X[2 * i + 1]), d = (x - px) ** 2 + (yy - py) ** 2;
      if (d < nearest) { nearest = d; best = i; }
    }
    return best;
  }
}

// The winner among several outputs, and by how much it leads.
function strength(data, at, cells, outputs) {
  let best = 0, first = -Infinity, second = -Infinity;
  for (let o = 0; o < outputs; o++) {
    const v = data[o * cells + at];
    if (v > first) { second = first; first = v; best = o; } else if (v > second) second = v;
  }
  return [best, first - second];
}
