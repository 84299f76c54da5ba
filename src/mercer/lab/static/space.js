// Points in space, turned by hand or by themselves: coordinates of kernel PCA, or the plane itself
// bent by one feature more, x₁x₂ or x₁² + x₂², until a level plane separates the classes.
import {css, sized} from "./dom.js";
import {color, trace} from "./marks.js";

export const LIFTS = {product: {label: "Lift by x₁x₂", of: (x, y) => x * y}, squares: {label: "Lift by x₁² + x₂²", of: (x, y) => x * x + y * y}};
const MESH = 12, MOST = 1.5;

export class Space {
  constructor(canvas, view) {
    Object.assign(this, {canvas, view, kind: "turning", angle: .6, tilt: .45, lift: 1, row: null, points: null, still: matchMedia("(prefers-reduced-motion: reduce)").matches});
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", "The points in feature space. Arrow keys turn them.");
    const turned = (angle, tilt) => { this.touched = true; this.angle = angle; this.tilt = Math.max(-MOST, Math.min(MOST, tilt)); this.draw(); };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); this.grip = [event.clientX, event.clientY, this.angle, this.tilt]; });
    canvas.addEventListener("pointermove", (event) => { if (this.grip) turned(this.grip[2] + (event.clientX - this.grip[0]) / 120, this.grip[3] + (event.clientY - this.grip[1]) / 120); });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { this.grip = null; });
    canvas.addEventListener("keydown", (event) => {
      const turns = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1]}[event.key];
      if (!turns) return;
      turned(this.angle + turns[0], this.tilt + turns[1]);
      event.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.turn();
  }

  // `points`: {X, y, order, places}, places with three coordinates per entry of `order`.
  set(points) { this.points = points; this.draw(); }
  leave() { this.gone = true; }

  turn() {
    if (this.gone) return;
    if (!this.still && !this.touched && !this.grip && this.kind !== "flat" && !document.hidden) { this.angle += .004; this.draw(); }
    requestAnimationFrame(() => this.turn());
  }

  draw() { if (!this.pending) { this.pending = true; requestAnimationFrame(() => { this.pending = false; const got = sized(this.canvas); if (got) this.render(...got); }); } }

  // The height of a point, as long as the sides of the square.
  height(x, y) { return (LIFTS[this.kind].of(x, y) / this.view - (this.kind === "squares" ? this.view / 2 : 0)) * this.lift; }

  // Where a level plane separates two classes best, and how many points are then on the wrong side.
  level() {
    const {X, y} = this.points, values = y.map((c, i) => [LIFTS[this.kind].of(X[2 * i], X[2 * i + 1]), c]).sort((a, b) => a[0] - b[0]);
    const classes = [...new Set(y)];
    if (classes.length !== 2) return null;
    let below = 0, best = {wrong: Infinity, at: 0};
    const first = y.filter((c) => c === classes[0]).length;
    for (let i = 0; i + 1 < values.length; i++) {
      below += values[i][1] === classes[0] ? 1 : -1;   // of the first class less of the second
      const split = first - below, wrong = Math.min(split, values.length - split), gap = values[i + 1][0] - values[i][0];
      if (gap > 1e-9 && (wrong < best.wrong || (wrong === best.wrong && gap > best.gap))) best = {wrong, gap, at: (values[i][0] + values[i + 1][0]) / 2};
    }
    return best.wrong === Infinity ? null : best;
  }

  render(context, side) {
    context.fillStyle = css("--well"); context.fillRect(0, 0, side, side);
    if (!this.points) return;
    const lifted = this.kind in LIFTS, {X, y, order, places} = this.points, flat = this.kind === "flat";
    const place = (i) => lifted ? [X[2 * order[i]], X[2 * order[i] + 1], this.height(X[2 * order[i]], X[2 * order[i] + 1])] : [places[3 * i], places[3 * i + 1], flat ? 0 : places[3 * i + 2]];
    let reach = lifted ? 1.55 * this.view : 1e-12;
    if (!lifted) for (let i = 0; i < order.length; i++) reach = Math.max(reach, Math.hypot(...place(i)));
    const [angle, tilt] = flat ? [0, Math.PI / 2] : [this.angle, this.tilt];
    const ca = Math.cos(angle), sa = Math.sin(angle), ct = Math.cos(tilt), st = Math.sin(tilt), half = side / 2, unit = .46 * side / reach;
    const project = (p) => { const u = ca * p[0] + sa * p[1], v = -sa * p[0] + ca * p[1]; return [half + unit * u, half - unit * (ct * p[2] + st * v), ct * v - st * p[2]]; };
    const path = (points) => { context.beginPath(); points.forEach((p, i) => { const [u, v] = project(p); i ? context.lineTo(u, v) : context.moveTo(u, v); }); };
    context.lineWidth = 1; context.strokeStyle = css("--rule");
    if (lifted) this.surface(context, path);
    else for (const axis of [[reach, 0, 0], [0, reach, 0], ...(flat ? [] : [[0, 0, reach]])]) { path([axis.map((v) => -v), axis]); context.stroke(); }
    const dots = order.map((index, i) => [...project(place(i)), index, i]).sort((a, b) => b[2] - a[2]);
    for (const [u, v, depth, index, i] of dots) {
      const here = i === this.row, r = (here ? 7 : 4) * (side > 400 ? 1.4 : 1) * (1 - .2 * depth / reach);
      trace(context, y[index], u, v, r);
      context.fillStyle = color(y[index]); context.globalAlpha = .92; context.fill(); context.globalAlpha = 1;
      context.strokeStyle = here ? css("--ink") : css("--panel"); context.lineWidth = here ? 2.2 : 1; context.stroke();
    }
  }

  // The plane as a mesh that bends, and the level plane that separates the classes.
  surface(context, path) {
    const v = this.view, at = (k) => -v + 2 * v * k / MESH, on = (x, y) => [x, y, this.height(x, y)];
    context.strokeStyle = css("--muted"); context.globalAlpha = .35;
    for (let k = 0; k <= MESH; k++) for (const line of [(j) => on(at(k), at(j / 2)), (j) => on(at(j / 2), at(k))]) { path(Array.from({length: 2 * MESH + 1}, (_, j) => line(j))); context.stroke(); }
    const level = this.level();
    if (level && this.lift > .5) {
      const z = (level.at / v - (this.kind === "squares" ? v / 2 : 0)) * this.lift;
      path([[-v, -v, z], [v, -v, z], [v, v, z], [-v, v, z]]); context.closePath();
      context.globalAlpha = .1 * (2 * this.lift - 1); context.fillStyle = css("--ink"); context.fill();
      context.globalAlpha = .6 * (2 * this.lift - 1); context.strokeStyle = css("--ink"); context.stroke();
    }
    context.globalAlpha = 1;
  }
}
