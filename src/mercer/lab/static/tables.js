// A table dropped on the page or pasted into it: two of its columns become the plane, one the classes.
import {h} from "./dom.js";
import {eigen} from "./mercer.js";

const MOST = 4_000_000, PCA = "components";

// The cells of one line.
function cells(line, separator) {
  const out = [""];
  let quoted = false;
  for (const c of line) {
    if (c === '"') quoted = !quoted;
    else if (c === separator && !quoted) out.push("");
    else out[out.length - 1] += c;
  }
  return out.map((cell) => cell.trim());
}

// Rows of a text with commas, semicolons or tabs; quotes hold separators.
export function parse(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").filter((line) => line.trim());
  const separator = [",", ";", "\t"].map((c) => [lines[0]?.split(c).length ?? 0, c]).sort((a, b) => b[0] - a[0])[0][1];
  const rows = lines.map((line) => cells(line, separator));
  const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
  const headed = rows.length > 1 && !rows[0].some(isNumber);
  const names = headed ? rows[0] : rows[0].map((_, i) => `column ${i + 1}`);
  const body = (headed ? rows.slice(1) : rows).filter((row) => row.length === names.length);
  const numeric = names.map((_, j) => body.length > 0 && body.every((row) => isNumber(row[j])));
  return {names, body, numeric};
}

// Which column looks like classes: by its name, else the last with few values.
function classColumn({names, body}) {
  const few = names.map((_, j) => { const n = new Set(body.map((row) => row[j])).size; return n > 1 && n <= 10; });
  const named = names.findIndex((name, j) => few[j] && /^(class|label|target|species|y)$/i.test(name));
  return named >= 0 ? named : few.lastIndexOf(true);
}

// Points in the picture, as large as fits.
function placed(columns, view) {
  const scaled = columns.map((values) => { const mean = values.reduce((a, b) => a + b, 0) / values.length; return values.map((v) => v - mean); });
  const spread = scaled.map((values) => Math.sqrt(values.reduce((a, v) => a + v * v, 0) / values.length) || 1);
  const units = scaled.map((values, k) => values.map((v) => v / spread[k]));
  const most = Math.max(...units.flatMap((values) => values.map(Math.abs)), 1e-12);
  return units[0].flatMap((v, i) => [v, units[1][i]].map((u) => Math.round(1e4 * .85 * view * u / most) / 1e4));
}

// The first two principal components, columns being of one spread: (x, y) of each row.
export function principal(columns) {
  const width = columns.length, n = columns[0].length, Z = columns.map((values) => { const mean = values.reduce((a, b) => a + b, 0) / n, c = values.map((v) => v - mean), spread = Math.sqrt(c.reduce((a, v) => a + v * v, 0) / n) || 1; return c.map((v) => v / spread); });
  const {vectors} = eigen(Float64Array.from({length: width * width}, (_, at) => { const a = Z[Math.floor(at / width)], b = Z[at % width]; return a.reduce((sum, v, i) => sum + v * b[i], 0); }), width);
  return Z[0].flatMap((_, i) => [0, 1].map((k) => Z.reduce((sum, values, j) => sum + vectors[k][j] * values[i], 0)));
}

export function takeFiles(place, limits, ondata, onerror) {
  const read = (text) => { try { choose(parse(text), limits, ondata, onerror); } catch (error) { onerror(error.message); } };
  place.ondragover = (event) => { event.preventDefault(); };
  place.ondrop = async (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (!file) return;
    if (file.size > MOST) return onerror("This file is larger than 4 MB: give it to `mercer lab FILE`.");
    read(await file.text());
  };
  place.onpaste = (event) => {
    const text = event.clipboardData.getData("text");
    if (!/\n/.test(text.trim()) || !/[,;\t]/.test(text)) return;   // not a table: a kernel, say
    event.preventDefault();
    read(text);
  };
}

function choose(table, limits, ondata, onerror) {
  const {names, numeric} = table, target = classColumn(table);
  const free = names.map((_, j) => j).filter((j) => numeric[j] && j !== target);
  if (target < 0 || free.length < 2) return onerror("A table needs two columns of numbers and one of at most ten classes.");
  const rows = table.body.length > limits.points ? table.body.filter((_, i) => Math.floor(i * limits.points / table.body.length) !== Math.floor((i - 1) * limits.points / table.body.length)) : table.body;
  const select = (label, options, chosen) => h("label", {class: "choice"}, label, h("select", {onchange: () => apply()}, ...options.map(([value, words]) => h("option", {value, selected: value === chosen}, words))));
  const columns = free.map((j) => [j, names[j]]);
  const x = select("across", [...columns, ...(free.length > 2 ? [[PCA, "first principal component"]] : [])], free.length > 2 ? PCA : free[0]);
  const y = select("up", [...columns, ...(free.length > 2 ? [[PCA, "second principal component"]] : [])], free.length > 2 ? PCA : free[1]);
  const dialog = h("dialog", {}, h("form", {method: "dialog"}, h("h2", {}, `${rows.length} rows, classes from ${names[target]}`), x, y, h("button", {}, "Done")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  const kinds = [...new Set(rows.map((row) => row[target]))].sort();
  const classes = rows.map((row) => kinds.indexOf(row[target]));
  function apply() {
    const picked = [x, y].map((label) => label.querySelector("select").value);
    let found = null;
    if (picked.includes(PCA)) found = principal(free.map((j) => rows.map((row) => Number(row[j]))));
    const values = picked.map((j, k) => j === PCA ? rows.map((_, i) => found[2 * i + k]) : rows.map((row) => Number(row[Number(j)])));
    ondata(placed(values, limits.view), classes);
  }
  apply();
}
