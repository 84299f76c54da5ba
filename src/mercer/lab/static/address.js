// The state in the address, after #: readable where it can be, points as 16-bit numbers.

const GRID = 1e4;   // coordinates have four decimals

// The step of a tour stays in the address while its panel changes.
let kept = {};
export function keep({tour, step}) { kept = tour === undefined ? {} : {tour, step}; }

// Browsers refuse an address that changes with every step of a slider: it changes when that rests.
const REST = 120;
let later = null, latest = null;
export function write(panel, state) {
  latest = {panel, state, over: location.hash};
  clearTimeout(later);
  later = setTimeout(settle, REST);
}

// Writes what waits to be written, unless a link has led elsewhere meanwhile.
export function settle() {
  if (latest?.over !== location.hash) return;
  const {panel, state} = latest, parts = new URLSearchParams({panel});
  latest = null;
  for (const [name, value] of Object.entries({...state, ...kept})) {
    if (value === null || value === undefined || value === "") continue;
    parts.set(name, value);
  }
  history.replaceState(null, "", `${location.pathname}${location.search}#${parts}`);
}

export const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

export const written = (array) => btoa(String.fromCharCode(...new Uint8Array(array.buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
export const readBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)).buffer;

export const packPoints = (X, y) => `${y.join("")}.${written(new Int16Array(X.map((v) => Math.round(v * GRID))))}`;

export function unpackPoints(text) {
  try {
    const [classes, packed] = text.split(".");
    const X = [...new Int16Array(readBytes(packed))].map((v) => v / GRID), y = [...classes].map(Number);
    return X.length === 2 * y.length && y.every((c) => c >= 0 && c <= 9) ? {X, y} : null;
  } catch { return null; }
}

// Points on a line, with heights of any size.
export const packSeries = (x, y) => written(new Float32Array([...x, ...y]));

export function unpackSeries(text) {
  try {
    const all = [...new Float32Array(readBytes(text))].map((v) => Math.round(v * GRID) / GRID), half = all.length / 2;
    return all.every(Number.isFinite) && Number.isInteger(half) ? {x: all.slice(0, half), y: all.slice(half)} : null;
  } catch { return null; }
}
