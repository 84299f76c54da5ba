// Where a field on a lattice crosses a level: marching squares, as loose segments, or joined to lines. Values are
// interpolated linearly, and no segment runs along the border.

// For each cell a bit per corner (top left 1, top right 2, bottom right 4, bottom left 8) above the
// level, and which edges (0 top, 1 right, 2 bottom, 3 left) each segment joins.
const JOINED = [[], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [[3, 0], [1, 2]], [[0, 2]], [[3, 2]],
  [[2, 3]], [[2, 0]], [[0, 1], [2, 3]], [[2, 1]], [[1, 3]], [[1, 0]], [[0, 3]], []];

// Segments as [x1, y1, x2, y2, …] in units of the lattice, 0 to size − 1; `on` says on which edge of the lattice each
// end lies (even: below a corner, odd: beside it), by which ends that meet are known.
export function contour(values, size, level) {
  const ends = [], on = [];
  for (let j = 0, at = 0; j + 1 < size; j++, at++) {
    for (let i = 0; i + 1 < size; i++, at++) {
      const a = values[at] - level, b = values[at + 1] - level;
      const d = values[at + size] - level, c = values[at + size + 1] - level;
      const code = (a > 0 ? 1 : 0) | (b > 0 ? 2 : 0) | (c > 0 ? 4 : 0) | (d > 0 ? 8 : 0);
      if (code === 0 || code === 15) continue;
      for (const pair of JOINED[code]) {
        for (const edge of pair) {
          if (edge === 0) { ends.push(i + a / (a - b), j); on.push(2 * at + 1); }
          else if (edge === 1) { ends.push(i + 1, j + b / (b - c)); on.push(2 * at + 2); }
          else if (edge === 2) { ends.push(i + d / (d - c), j + 1); on.push(2 * (at + size) + 1); }
          else { ends.push(i, j + a / (a - d)); on.push(2 * at); }
        }
      }
    }
  }
  return {ends, on};
}

// Segments as lines, [x, y, x, y, …] each: dashes run along a line, and begin anew with every segment.
export function joined({ends, on}) {
  const meets = new Map(), lines = [], used = new Uint8Array(on.length / 2);
  on.forEach((edge, end) => { const other = meets.get(edge); meets.set(edge, other === undefined ? end : [other, end]); });
  // From one end along the segments that meet it, until the line leaves the lattice or closes.
  const follow = (end, line) => {
    for (;;) {
      line.push(ends[2 * end], ends[2 * end + 1]);
      const pair = meets.get(on[end]), next = Array.isArray(pair) ? pair[pair[0] === end ? 1 : 0] : end;
      if (used[next >> 1]) return line;
      used[next >> 1] = 1;
      end = next ^ 1;
    }
  };
  const from = (end) => { used[end >> 1] = 1; lines.push(follow(end ^ 1, [ends[2 * end], ends[2 * end + 1]])); };
  on.forEach((edge, end) => { if (!used[end >> 1] && !Array.isArray(meets.get(edge))) from(end); });   // those that begin at the border
  on.forEach((_, end) => { if (!used[end >> 1]) from(end); });   // rings
  return lines;
}
