// The picture as a file. An SVG is drawn by the same code as the screen, on a stand-in for a canvas.
import {css, h} from "./dom.js";

const SIDE = 900, LINE = 44;

export function download(blob, name) {
  const link = h("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// `pictures`: [[plane, caption]], side by side.
export function picture(pictures, kind) {
  if (kind === "svg") return download(new Blob([svg(pictures)], {type: "image/svg+xml"}), "mercer.svg");
  const canvas = h("canvas", {width: 2 * SIDE * pictures.length, height: 2 * (SIDE + LINE)}), context = canvas.getContext("2d");
  context.scale(2, 2);
  drawn(context, pictures);
  canvas.toBlob((blob) => download(blob, "mercer.png"));
}

export function svg(pictures) {
  const pen = new Pen();
  drawn(pen, pictures);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIDE * pictures.length} ${SIDE + LINE}">${pen.parts.join("")}</svg>`;
}

function drawn(context, pictures) {
  context.fillStyle = css("--paper"); context.fillRect(0, 0, SIDE * pictures.length, SIDE + LINE);
  pictures.forEach(([plane, caption], i) => {
    context.save(); context.translate(i * SIDE, 0);
    if (context.beginPath && context.rect) { context.beginPath(); context.rect(0, 0, SIDE, SIDE); context.clip(); }
    plane.render(context, SIDE);
    context.restore();
    if (caption) { context.save(); context.translate(i * SIDE, 0); context.fillStyle = css("--ink"); context.globalAlpha = 1; context.font = `18px ${css("--mono")}`; context.textAlign = "start"; context.textBaseline = "middle"; context.fillText(caption, 14, SIDE + LINE / 2); context.restore(); }
  });
}

class Pen {
  constructor() { Object.assign(this, {parts: [], path: "", globalAlpha: 1, lineWidth: 1, strokeStyle: "#000", fillStyle: "#000", lineCap: "butt", lineJoin: "miter", dash: [], font: "", textAlign: "start", textBaseline: "alphabetic", moved: "", saved: []}); }
  save() { this.saved.push(this.moved); }
  restore() { this.moved = this.saved.pop(); }
  translate(x, y) { this.moved += `translate(${x},${y})`; }
  rotate(angle) { this.moved += `rotate(${angle * 180 / Math.PI})`; }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${x.toFixed(2)},${y.toFixed(2)}`; }
  lineTo(x, y) { this.path += `L${x.toFixed(2)},${y.toFixed(2)}`; }
  quadraticCurveTo(u, v, x, y) { this.path += `Q${u.toFixed(2)},${v.toFixed(2)} ${x.toFixed(2)},${y.toFixed(2)}`; }
  closePath() { this.path += "Z"; }
  arc(x, y, r) { this.path += `M${(x - r).toFixed(2)},${y.toFixed(2)}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`; }
  setLineDash(dash) { this.dash = dash; }
  add(tag, attributes, inside = "") { this.parts.push(`<${tag} ${attributes} opacity="${this.globalAlpha}"${this.moved ? ` transform="${this.moved}"` : ""}>${inside}</${tag}>`); }
  fill() { this.add("path", `d="${this.path}" fill="${this.fillStyle}"`); }
  stroke() { this.add("path", `d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linecap="${this.lineCap}" stroke-linejoin="${this.lineJoin}"${this.dash.length ? ` stroke-dasharray="${this.dash}"` : ""}`); }
  fillRect(x, y, width, height) { this.add("rect", `x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.fillStyle}"`); }
  fillText(text, x, y) {
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "", middle = this.textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    this.add("text", `x="${x}" y="${y}" font-family="monospace" font-size="${/([\d.]+)px/.exec(this.font)?.[1] ?? 13}" fill="${this.fillStyle}"${anchor}${middle}`, text.replace(/[<&]/g, ""));
  }
  drawImage(image, x, y, width, height) { this.add("image", `href="${image.toDataURL()}" x="${x}" y="${y}" width="${width}" height="${height}"`); }
}
