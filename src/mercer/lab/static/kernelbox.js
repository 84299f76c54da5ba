// The kernel as text, with its numbers underlined and as sliders, its errors under the characters
// that cause them, its mathematics and its proof.
import {h, mathematics, number, slider} from "./dom.js";
import {Superseded} from "./talk.js";

export class KernelBox {
  // `onchange(text)` when the text is a kernel; `onwitnesses` with the points of a counterexample.
  constructor(talk, text, {onchange, onwitnesses}) {
    this.talk = talk;
    this.onchange = onchange;
    this.onwitnesses = onwitnesses;
    this.numbers = [];
    this.input = h("input", {type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off", maxlength: 500,
      "aria-label": "Kernel expression", role: "combobox", "aria-expanded": "false", "aria-controls": "suggestions",
      oninput: () => this.typed(), onkeydown: (event) => this.key(event), onscroll: () => this.scroll(), onblur: () => this.suggest([])});
    this.mirror = h("pre", {"aria-hidden": "true"});
    this.list = h("ul", {class: "suggestions", id: "suggestions", role: "listbox", hidden: true});
    this.problem = h("p", {class: "problem", role: "alert", hidden: true});
    this.formula = h("div", {class: "formula"});
    this.sliders = h("div", {class: "sliders"});
    this.below = h("div", {class: "over"});   // for a panel's chart over the number that moved last
    this.last = 0;
    this.proof = h("div", {class: "proof", "aria-live": "polite"});
    this.element = h("section", {"aria-label": "Kernel"}, h("h2", {}, "Kernel"),
      h("div", {class: "box"}, h("div", {class: "kbox"}, this.mirror, this.input), this.list),
      this.problem, this.formula, this.sliders, this.below, this.proof);
    this.set(text);
  }

  get text() { return this.input.value; }

  // A new text from outside, which is read and told.
  set(text) { this.input.value = text; return this.read(); }

  typed() {
    this.read();
    const before = this.text.slice(0, this.input.selectionStart);
    this.talk.ask("completions", {text: before})
      .then(({completions}) => this.suggest(completions.filter((c) => c.insert !== before.slice(c.start))), () => {});
  }

  async read() {
    const text = this.text;
    this.underline();
    try {
      const found = await this.talk.ask("kernel", {text});
      if (this.text !== text) return;   // a slider has moved meanwhile: these numbers are elsewhere now
      if (found.problem) return this.complain(found.problem);
      this.problem.hidden = true;
      this.formula.classList.remove("stale");
      this.numbers = found.numbers;
      this.underline();
      this.formula.replaceChildren(h("div", {class: "math"}, mathematics(found.mathml)), found.typed ? h("p", {class: "note"}, h("code", {}, found.repr)) : "");
      this.makeSliders();
      this.onchange(this.text);
      this.prove();
    } catch (error) { if (!(error instanceof Superseded)) this.complain({words: error.message, start: 0, end: this.text.length, hint: ""}); }
  }

  complain({words, start, end, hint}) {
    this.numbers = [];
    this.underline({start, end});
    const shown = [words];
    if (hint) shown.push(" ", h("button", {onclick: () => this.set(this.text.slice(0, start) + hint + this.text.slice(end))}, `Write ${hint}`));
    this.problem.replaceChildren(...shown);
    this.problem.hidden = false;
    this.formula.classList.add("stale");   // of the kernel before
    this.sliders.replaceChildren();
    this.below.replaceChildren();
    this.proof.replaceChildren();
    this.onwitnesses(null);
  }

  underline(mistake = null) {
    const text = this.text, parts = [];
    let at = 0;
    for (const {start, end} of mistake ? [mistake] : this.numbers) {
      if (end > text.length && !mistake) continue;
      parts.push(text.slice(at, start), h(mistake ? "mark" : "em", {class: !mistake && this.lit === start ? "lit" : null}, text.slice(start, end) || " "));
      at = end;
    }
    this.mirror.replaceChildren(...parts, text.slice(at));
    this.scroll();
  }

  scroll() { this.mirror.scrollLeft = this.input.scrollLeft; }

  makeSliders() {
    if (this.sliding) return;    // the one that is being dragged stays
    this.sliders.replaceChildren(...this.numbers.map((n, i) => slider({
      label: n.symbol, words: n.symbol.length > 2 ? n.symbol : "", low: n.low, high: n.high, log: n.log, whole: n.whole, value: n.value, usual: n.default,
      oninput: (value) => this.slide(i, value)})));
    this.sliders.querySelectorAll("input").forEach((input, i) => {
      input.setAttribute("aria-label", `${this.numbers[i].path.replaceAll("__", " ")}`);
      const light = (on) => { this.lit = on ? this.numbers[i]?.start : null; this.underline(); };   // which number it is
      for (const name of ["pointerenter", "focus"]) input.addEventListener(name, () => light(true));
      for (const name of ["pointerleave", "blur"]) input.addEventListener(name, () => light(false));
      input.addEventListener("pointerdown", () => { this.sliding = true; });
      input.addEventListener("pointerup", () => { this.sliding = false; this.read(); });
      input.addEventListener("pointercancel", () => { this.sliding = false; this.read(); });
    });
  }

  // A value from elsewhere: the slider goes there, too.
  slideTo(i, value) { this.sliders.children[i]?.show(value); this.slide(i, value); }

  slide(i, value) {
    this.last = i;
    const {start, end} = this.numbers[i], text = this.text, shown = String(value);
    this.input.value = text.slice(0, start) + shown + text.slice(end);
    const shift = shown.length - (end - start);
    this.numbers = this.numbers.map((n, j) => j === i ? {...n, value, end: start + shown.length}
      : n.start > start ? {...n, start: n.start + shift, end: n.end + shift} : n);
    this.lit = start;
    this.underline();
    this.onchange(this.text);
    clearTimeout(this.later);
    this.later = setTimeout(() => this.sliding ? this.prove() : this.read(), 200);
  }

  // --- completion ------------------------------------------------------------------------------

  suggest(found) {
    this.found = found;
    this.chosen = found.length ? 0 : -1;
    this.list.hidden = !found.length;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.list.replaceChildren(...found.slice(0, 6).map((c, i) => h("li", {role: "option", id: `suggestion-${i}`, "aria-selected": String(i === 0),
      onpointerdown: (event) => { event.preventDefault(); this.take(i); }}, c.signature, h("span", {}, c.words))));
    this.input.setAttribute("aria-activedescendant", found.length ? "suggestion-0" : "");
  }

  take(i) {
    const {start, insert} = this.found[i], after = this.text.slice(this.input.selectionStart);
    this.input.value = this.text.slice(0, start) + insert + after;
    const caret = start + insert.length;
    this.input.setSelectionRange(caret, caret);
    this.suggest([]);
    this.read();
  }

  key(event) {
    if (this.list.hidden) return;
    const count = Math.min(6, this.found.length);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.chosen = (this.chosen + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
      [...this.list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === this.chosen)));
      this.input.setAttribute("aria-activedescendant", `suggestion-${this.chosen}`);
    } else if (event.key === "Tab" || event.key === "Enter") this.take(this.chosen);
    else if (event.key === "Escape") this.suggest([]);
    else return;
    event.preventDefault();
  }

  // --- proof -----------------------------------------------------------------------------------

  prove() {
    const text = this.text;
    this.talk.ask("proof", {text}).then((found) => this.showProof(found), () => {});
  }

  showProof(found) {
    const open = this.proof.querySelector("[aria-expanded=true]") !== null;
    this.onwitnesses(null);
    if (found.answer === "kernel") {
      const limits = found.proof.limits ? ` ${found.proof.limits}` : "";
      const words = [h("b", {}, "✓ A kernel"), `${limits}: ${reason(found.proof)}. `];
      if (found.proof.parts.length) this.disclose(words, "Show the proof", () => h("ul", {class: "tree"}, node(found.proof)), open);
      else this.proof.replaceChildren(...words);   // one rule: that was the proof
    } else if (found.answer === "not a kernel") {
      const witnesses = found.points.map((x, i) => ({x, c: found.vector ? number(found.vector[i]) : "xz"[i]}));
      const what = found.kind === "asymmetric" ? `k(x, z) − k(z, x) = ${number(found.value)}`
        : `cᵀKc = ${number(found.value)} on ${found.points.length} point${found.points.length > 1 ? "s" : ""}`;
      this.disclose([h("b", {}, "✗ Not a kernel"), `: ${what}. `], "Show the counterexample", (shown) => {
        this.onwitnesses(shown ? witnesses : null);
        return h("ul", {class: "tree"}, ...witnesses.map(({x, c}) => h("li", {}, `x = (${x.map((v) => number(v)).join(", ")}), c = ${c}${x.some((v) => Math.abs(v) > 1.5) ? ", outside the picture" : ""}`)));
      }, open);
    } else this.proof.replaceChildren(h("b", {}, "? Not known to be a kernel"), `: ${found.reason}.`);
  }

  disclose(words, label, make, open) {
    const below = h("div", {});
    const button = h("button", {class: "link", "aria-expanded": "false", onclick: () => toggle(button.getAttribute("aria-expanded") === "false")}, label);
    const toggle = (shown) => {
      button.setAttribute("aria-expanded", String(shown));
      button.textContent = shown ? label.replace("Show", "Hide") : label;
      below.replaceChildren(make(shown));
      below.hidden = !shown;
    };
    this.proof.replaceChildren(...words, button, below);
    toggle(open);
  }
}

const reason = (proof) => proof.parts.length ? `${proof.rule}` : (proof.because || proof.rule);
const node = (proof) => h("li", {}, h("code", {}, proof.kernel), `: ${proof.rule}${proof.because ? ` (${proof.because})` : ""}${proof.limits ? ` [${proof.limits}]` : ""}`,
  proof.parts.length ? h("ul", {}, ...proof.parts.map(node)) : null);
