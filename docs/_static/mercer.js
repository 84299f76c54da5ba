// Names for what the theme leaves without one, and keys for what scrolls by itself.
function name() {
  // Where the button shows words, "Search Ctrl+K", its label must hold the same ones.
  for (const button of document.querySelectorAll(".search-button__button")) {
    const words = button.textContent.replace(/\s+/g, " ").trim();
    if (words) button.setAttribute("aria-label", words);
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  for (const summary of document.querySelectorAll("nav summary")) {
    const part = summary.closest("li")?.querySelector("a")?.textContent.trim();
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", `Pages of ${part ?? "this part"}`);
  }
}

function reachable() {
  for (const box of document.querySelectorAll("mjx-container[display], table.docutils, div.highlight pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

document.addEventListener("DOMContentLoaded", name);
addEventListener("load", () => {
  reachable();
  globalThis.MathJax?.startup?.promise?.then(reachable);
});
addEventListener("resize", reachable);
