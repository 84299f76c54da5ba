// Elements in one line: h("button", {class: "go", onclick: play}, "Play").
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const $ = (selector, inside = document) => inside.querySelector(selector);

// MathML comes from the server as text; it is parsed, never set as HTML. A line may end before a + or −, or between factors.
export function mathematics(text) {
  const row = new DOMParser().parseFromString(`<mrow xmlns="http://www.w3.org/1998/Math/MathML">${text}</mrow>`, "application/xml").documentElement.firstElementChild, parts = [[]];
  let inside = 0;
  for (const child of [...row.childNodes]) {
    const sign = child.textContent, before = parts.at(-1).at(-1)?.textContent;
    if (!inside && child.localName === "mo" && ("+−".includes(sign) || sign === "·" && child.nextElementSibling.localName !== "mi") && before && before !== "=") { parts.push([]); child.setAttribute("form", "infix"); }
    if (sign === "(") inside++; else if (/^\)/.test(sign)) inside--; else if (/^[‖|]/.test(sign)) inside = inside ? 0 : 1;
    parts.at(-1).push(document.importNode(child, true));
  }
  return parts.flatMap((nodes) => {
    const math = document.createElementNS("http://www.w3.org/1998/Math/MathML", "math");
    math.setAttribute("displaystyle", "true");
    math.append(...nodes);
    return [math, " "];
  });
}

export function toast(words) {
  const place = $("#toast");
  place.textContent = words;
  place.classList.add("shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("shown"), 2000);
}

export const number = (value, digits = 3) => Math.abs(value) < 1e-12 ? "0" :
  (Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(1) : String(Number(value.toPrecision(digits)))).replace("-", "−");

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const rgb = (hex) => [1, 3, 5].map((i) => parseInt((hex.length === 4
  ? "#" + [...hex.slice(1)].map((c) => c + c).join("") : hex).slice(i, i + 2), 16));

// A slider with its label and number. `scale`: {low, high, log, whole}.
export function slider({label, words = "", low, high, log = false, whole = false, value, usual = null, oninput}) {
  const steps = whole ? high - low : 400;
  const to = (v) => log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  const from = (part) => {
    const raw = log ? low * (high / low) ** part : low + part * (high - low);
    return whole ? Math.round(raw) : Number(raw.toPrecision(3));
  };
  const output = h("output", {}, number(value));
  const input = h("input", {type: "range", min: 0, max: steps, step: log && whole ? "any" : 1, "aria-label": words || label});
  const show = (v) => {
    value = v;
    output.textContent = number(v);
    input.value = to(v) * steps;
    input.setAttribute("aria-valuetext", number(v));
    input.style.setProperty("--done", `${100 * to(v)}%`);
  };
  input.addEventListener("input", () => {
    const v = from(input.value / steps);
    output.textContent = number(v);
    input.setAttribute("aria-valuetext", number(v));
    input.style.setProperty("--done", `${100 * input.value / steps}%`);
    if (v !== value) oninput(value = v);
  });
  if (usual !== null) {
    input.title = "double click: the default";
    input.addEventListener("dblclick", () => { show(usual); oninput(usual); });
  }
  show(value);
  const row = h("label", {class: words ? "slider words" : "slider"}, h("i", {}, words || label), input, output);
  row.show = show;
  return row;
}

// A canvas as large as its element on the screen, in pixels of the device.
export function sized(canvas) {
  const side = canvas.clientWidth, pixels = Math.round(side * (window.devicePixelRatio || 1));
  if (!side) return null;
  if (canvas.width !== pixels || canvas.height !== pixels) canvas.width = canvas.height = pixels;
  const context = canvas.getContext("2d");
  context.setTransform(pixels / side, 0, 0, pixels / side, 0, 0);
  return [context, side];
}
