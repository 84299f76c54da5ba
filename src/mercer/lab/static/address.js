// The state in the address, after #: readable where it can be, points as 16-bit numbers.

const GRID = 1e4;   // coordinates have four decimals

// The step of a tour stays in the address while its panel changes.
let kept = {};
export function keep({tour, step}) { kept = tour === undefined ? {} : {tour, step}; }

export function write(panel, state) {
  const parts = new URLSearchParams();
  parts.set("panel", panel);
  state = {...state, ...kept};
  for (const [name, value] of Object.entries(state)) {
    if (value === null || value === undefined || value === "") continue;
    parts.set(name, value);
  }
  history.replaceState(null, "", `${location.pathname}${location.search}#${parts}`);
}

export const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

export function packPoints(X, y) {
  const bytes = new Uint8Array(new Int16Array(X.map((v) => Math.round(v * GRID))).buffer);
  const text = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${y.join("")}.${text}`;
}

export function unpackPoints(text) {
  try {
    const [classes, packed] = text.split(".");
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const X = [...new Int16Array(bytes.buffer)].map((v) => v / GRID), y = [...classes].map(Number);
    return X.length === 2 * y.length && y.every((c) => c >= 0 && c <= 9) ? {X, y} : null;
  } catch { return null; }
}
