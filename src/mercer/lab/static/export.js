// The picture as a file. An SVG is drawn by the same code as the screen, on a stand-in for a canvas.
import {h} from "./dom.js";

const SIDE = 900;

export function download(blob, name) {
  const link = h("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function picture(plane, kind) {
  if (kind === "svg") return download(new Blob([svg(plane)], {type: "image/svg+xml"}), "mercer.svg");
  const canvas = h("canvas", {width: 2 * SIDE, height: 2 * SIDE}), context = canvas.getContext("2d");
  context.scale(2, 2);
  plane.render(context, SIDE);
  canvas.toBlob((blob) => download(blob, "mercer.png"));
}

export function svg(plane) {
  const pen = new Pen();
  plane.render(pen, SIDE);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIDE} ${SIDE}">${pen.parts.join("")}</svg>`;
}

class Pen {
  constructor() { Object.assign(this, {parts: [], path: "", globalAlpha: 1, lineWidth: 1, strokeStyle: "#000", fillStyle: "#000", lineCap: "butt", dash: [], font: ""}); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${x.toFixed(2)},${y.toFixed(2)}`; }
  lineTo(x, y) { this.path += `L${x.toFixed(2)},${y.toFixed(2)}`; }
  closePath() { this.path += "Z"; }
  arc(x, y, r) { this.path += `M${(x - r).toFixed(2)},${y.toFixed(2)}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`; }
  setLineDash(dash) { this.dash = dash; }
  fill() { this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}" opacity="${this.globalAlpha}"/>`); }
  stroke() { this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linecap="${this.lineCap}" opacity="${this.globalAlpha}"${this.dash.length ? ` stroke-dasharray="${this.dash}"` : ""}/>`); }
  fillRect(x, y, width, height) { this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.fillStyle}"/>`); }
  fillText(text, x, y) { this.parts.push(`<text x="${x}" y="${y}" font-family="monospace" font-size="13" fill="${this.fillStyle}">${text.replace(/[<&]/g, "")}</text>`); }
  drawImage(image, x, y, width, height) { this.parts.push(`<image href="${image.toDataURL()}" x="${x}" y="${y}" width="${width}" height="${height}"/>`); }
}
