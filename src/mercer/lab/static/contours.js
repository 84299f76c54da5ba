// Where a field on a lattice crosses a level: marching squares, as loose segments, or joined to lines. Values are
// interpolated linearly, and no segment runs along the border.

// For each cell a bit per corner (top left 1, top right 2, bottom right 4, bottom left 8) above the
// level, and which edges (0 top, 1 right, 2 bottom, 3 left) each segment joins.
const JOINED = [[], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [[3, 0], [1, 2]], [[0, 2]], [[3, 2]],
  [[2, 3]], [[2, 0]], [[0, 1], [2, 3]], [[2, 1]], [[1, 3]], [[1, 0]], [[0, 3]], []];

// Segments as [x1, y1, x2, y2, …] in units of the lattice, 0 to size − 1.
export function contour(values, size, level, offset = 0) {
  const out = [];
  for (let j = 0; j + 1 < size; j++) {
    let at = offset + j * size;
    for (let i = 0; i + 1 < size; i++, at++) {
      const a = values[at] - level, b = values[at + 1] - level;
      const d = values[at + size] - level, c = values[at + size + 1] - level;
      const code = (a > 0 ? 1 : 0) | (b > 0 ? 2 : 0) | (c > 0 ? 4 : 0) | (d > 0 ? 8 : 0);
      if (code === 0 || code === 15) continue;
      for (const pair of JOINED[code]) {
        for (const edge of pair) {
          if (edge === 0) out.push(i + a / (a - b), j);
          else if (edge === 1) out.push(i + 1, j + b / (b - c));
          else if (edge === 2) out.push(i + d / (d - c), j + 1);
          else out.push(i, j + a / (a - d));
        }
      }
    }
  }
  return out;
}

// Segments as lines, [[x, y], …] each: dashes run along a line, and begin anew with every segment.
// Where two cells meet, both compute the same numbers, so ends that meet are equal.
export function joined(segments) {
  const ends = new Map(), lines = [], used = new Set(), key = (x, y) => `${x} ${y}`;
  const at = (i) => [segments[i], segments[i + 1]];
  for (let i = 0; i < segments.length; i += 2) { const here = key(...at(i)); ends.set(here, [...ends.get(here) ?? [], i]); }
  const follow = (line) => {
    for (;;) {
      const next = ends.get(key(...line.at(-1))).find((i) => !used.has(i >> 2));
      if (next === undefined) return line;
      used.add(next >> 2);
      line.push(at(next ^ 2));   // the other end of the same segment
    }
  };
  for (let i = 0; i < segments.length; i += 4) {
    if (used.has(i >> 2)) continue;
    used.add(i >> 2);
    lines.push(follow(follow([at(i), at(i + 2)]).reverse()));
  }
  return lines;
}
