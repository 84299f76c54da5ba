// Tours: short prose whose links set the state of the panels. The strip above a panel shows one
// step; it belongs to the address, so that a step can be sent to a friend.
import {$, h} from "./dom.js";
import * as address from "./address.js";

let tours = null;
export async function load() {
  tours ??= await fetch("static/tours.json").then((answer) => answer.json());
  return tours;
}

const link = (tour, step, state) => `#${state}&tour=${tour}&step=${step}`;

// "prose with [words](state)" as nodes.
function prose(text, tour, step) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(/\[([^\]]+)\]\(((?:[^()]|\([^()]*\))*)\)/g)) {
    parts.push(text.slice(at, found.index), h("a", {href: link(tour, step, found[2])}, found[1]));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

export class Tours {
  constructor(lab) {
    this.lab = lab;
    lab.place.replaceChildren(h("h1", {}, "Five lectures to play with"), h("p", {class: "lead"}, "Each step opens a panel and says what to look for; the links in its words change the picture."), this.list = h("div", {class: "tours"}));
    load().then((all) => this.list.replaceChildren(...all.map((tour) => h("section", {}, h("h2", {}, tour.by), h("h3", {}, tour.title),
      h("ol", {}, ...tour.steps.map((step, i) => h("li", {}, h("a", {href: link(tour.id, i, step.state)}, step.title))))))));
    address.write("tours", {});
    this.settled = true;
  }
  repaint() {}
}

// The strip for a step of the address, or nothing.
export async function strip(lab, given) {
  const place = $("#tour");
  const tour = given.tour ? (await load()).find((t) => t.id === given.tour) : null;
  const i = Number(given.step), step = tour?.steps[i];
  place.hidden = !step;
  if (!step) return;
  const go = (j, words) => j >= 0 && j < tour.steps.length ? h("a", {href: link(tour.id, j, tour.steps[j].state)}, words) : null;
  place.replaceChildren(h("div", {}, h("h2", {}, `${tour.title}, ${i + 1} of ${tour.steps.length}`), h("p", {}, h("b", {}, `${step.title}. `), ...prose(step.text, tour.id, i))),
    h("p", {class: "steps"}, go(i - 1, "‹ Back"), go(i + 1, "Next ›"), h("a", {href: "#panel=tours"}, "All tours")), step.guess ? guess(step.guess, lab) : "");
}

// A question to guess at before looking on: the answer says why, and what the panel shows of it.
function guess({ask, choices, right, because}, lab) {
  const said = h("span", {role: "status"});
  if (!choices) {   // where the line will be: the panel measures
    const button = h("button", {onclick: () => lab.panel.guessLine?.((words) => { said.textContent = words; })}, "Guess by a click");
    return h("div", {class: "guess", role: "group", "aria-label": "Guess first"}, h("b", {}, "Guess first: "), ask, button, said);
  }
  const buttons = choices.map((words, k) => h("button", {"aria-pressed": "false", onclick: () => {
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(j === k)));
    said.textContent = `${k === right ? "Right" : "Not quite"}: ${because}`;
  }}, words));
  return h("div", {class: "guess", role: "group", "aria-label": "Guess first"}, h("b", {}, "Guess first: "), ask, ...buttons, said);
}
