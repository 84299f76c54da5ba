// Numbers along the left and the lower border of a picture of [left, right] × [low, high].
import {css} from "./dom.js";

function marks(from, to) {
  const rough = (to - from) / 5, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((k) => k * power).find((v) => v >= rough), out = [];
  for (let k = Math.ceil(from / step); k * step < to; k++) out.push(Number((k * step).toPrecision(6)));
  return out;
}

export function axes(context, side, [left, right], [low, high]) {
  const words = (v) => String(v).replace("-", "−");
  context.font = `11px ${css("--sans")}`; context.fillStyle = css("--muted"); context.textBaseline = "middle"; context.textAlign = "center";
  for (const x of marks(left, right)) { const u = (x - left) / (right - left) * side; if (u > 30 && u < side - 14) { context.fillRect(u - .5, side - 5, 1, 5); context.fillText(words(x), u, side - 13); } }
  context.textAlign = "start";
  for (const y of marks(low, high)) { const v = (high - y) / (high - low) * side; if (v > 14 && v < side - 26) { context.fillRect(0, v - .5, 5, 1); context.fillText(words(y), 9, v); } }
}
