// The page: connects, shows the panel that the address names, and shares it.
import {$, h, toast} from "./dom.js";
import {Curves} from "./curves.js";
import {Digits} from "./digits.js";
import {Gram} from "./gram.js";
import {Playground} from "./playground.js";
import {Line, Talk} from "./talk.js";
import {Tours, strip} from "./tours.js";
import * as address from "./address.js";
import {download, picture} from "./export.js";

const PANELS = {playground: ["Playground", Playground], curves: ["Curves", Curves], gram: ["Gram", Gram], digits: ["Digits", Digits], tours: ["Tours", Tours]};

const lab = {place: $("#panel"), panel: null, name: null};

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* private windows have no storage */ }
  lab.panel?.repaint();
}

function show(name, given) {
  lab.panel?.leave?.();
  lab.talk.close();
  lab.talk = new Line(talk);
  for (const id of ["#share", "#python"]) $(id).hidden = name === "tours";   // nothing to share there
  lab.name = name;
  $("#panels").replaceChildren(...Object.entries(PANELS).map(([key, [title]]) =>
    h("a", {href: `#panel=${key}`, "aria-current": key === name ? "page" : null, onclick: (event) => { event.currentTarget.href = `#${carried(name, key)}`; }}, title)));
  lab.panel = new PANELS[name][1](lab, given);
}

// The playground and the Gram panel show the same points with the same kernel.
function carried(from, to) {
  const parts = new URLSearchParams({panel: to}), same = ["playground", "gram"];
  address.settle();
  if (from !== to && same.includes(from) && same.includes(to)) for (const [name, value] of Object.entries(address.read())) if (["kernel", "data", "n", "noise", "seed", "points"].includes(name)) parts.set(name, value);
  return parts;
}

function open() {
  const given = address.read();
  address.keep(given);
  strip(lab, given);
  show(Object.hasOwn(PANELS, given.panel) ? given.panel : "playground", given);
}

async function copy(text, words) {
  try { await navigator.clipboard.writeText(text); toast(words); return true; } catch { return false; }
}

function sharing() {
  const menu = $("#sharing"), close = () => menu.hidePopover();
  const item = (label, act) => h("button", {class: "item", onclick: () => { close(); act(); }}, label);
  menu.replaceChildren(
    item("A page that moves, as one file", () => page()),
    item("State for mercer lab --state", () => { address.settle(); const text = `mercer lab --state "${location.hash.slice(1)}"`; copy(text, "Command copied").then((done) => done || showText(text)); }),
    item("Picture as PNG", () => picture(pictures(), "png")),
    item("Picture as SVG", () => picture(pictures(), "svg")),
    item("Points as CSV", () => download(new Blob([lab.panel.csv()], {type: "text/csv"}), "points.csv")));
  menu.addEventListener("beforetoggle", () => {
    const box = $("#share").getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(box.left, innerWidth - 276))}px`; menu.style.top = `${box.bottom + 6}px`;
  });
}

const pictures = () => lab.panel.pictures ?? [[lab.panel.plane, lab.panel.state ? `k = ${lab.panel.state.kernel}` : ""]];

// What is on the screen as one HTML file, which asks no server.
async function page() {
  const {beside, playbar} = lab.panel, visit = playbar && playbar.at < playbar.length ? playbar.at : null;
  try { const reply = await lab.talk.ask("share", {panel: lab.name, state: lab.panel.snapshot(), beside: beside ?? "", visit}); download(new Blob([reply.page], {type: "text/html"}), "mercer.html"); } catch (error) { toast(error.message); }
}

function showText(text) {
  $("#code textarea").value = text;
  $("#code").showModal();
}

$("#theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
$("#python").addEventListener("click", async () => {
  try { const text = await lab.panel.script(); if (!await copy(text, "Python script copied")) showText(text); } catch (error) { toast(error.message); }
});
let stored = null;
try { stored = localStorage.getItem("theme"); } catch { /* as above */ }
setTheme(stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
sharing();

let offline = null;
const talk = new Talk((connected) => {
  if (connected) { if (offline) { offline.remove(); offline = null; lab.panel?.changed?.(); } return; }
  offline ??= h("p", {class: "offline", role: "alert"}, "The server has gone. Start mercer lab again, and open the address that it prints.");
  lab.place.prepend(offline);
});
lab.talk = new Line(talk);
talk.ask("catalog", {}).then((catalog) => {
  lab.catalog = catalog;
  open();
  addEventListener("hashchange", open);
});
window.lab = lab;
