"""The look of the page: system fonts, light and dark, one column on a telephone."""

CSS = """
:root { --fg: #1b1f24; --soft: #57606a; --bg: #ffffff; --card: #f6f8fa; --line: #d0d7de;
  --accent: #0072b2; --good: #0a7d5a; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --soft: #9aa4ae; --bg: #0f1318;
  --card: #171c22; --line: #30363d; --accent: #5cb3e6; --good: #4cc38a; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 70rem; color: var(--fg);
  background: var(--bg); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .3rem 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .7rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 46rem; }
.lead { font-size: 1.08rem; }
.soft, figcaption, .note { color: var(--soft); font-size: .9rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; font-size: .88em; overflow-wrap: break-word; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .8rem 1rem; overflow-x: auto; overflow-wrap: normal; line-height: 1.45; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; color: var(--soft); white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.k { min-width: 11rem; }
td.s { white-space: nowrap; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--soft); }
details { margin: .5rem 0; }
tr.best td { color: var(--good); font-weight: 600; }
tr.dim td { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .7rem;
  margin: 1.1rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .8rem; }
.card b { display: block; font-size: 1.3rem; line-height: 1.3; overflow-wrap: anywhere; }
.pictures { display: grid; gap: 1.4rem; grid-template-columns:
  repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; min-width: 0; }
figure.wide { grid-column: 1 / -1; }
figure svg { width: 100%; height: auto; color: var(--fg); display: block; }
figure.wide { overflow-x: auto; }
figure.wide svg { max-width: 52rem; min-width: 30rem; }
.math { overflow-x: auto; padding: .6rem 0; }
.math svg { color: var(--fg); display: block; }
ul.tree, ul.tree ul { list-style: none; margin: 0; padding-left: 1.1rem;
  border-left: 1px solid var(--line); }
ul.tree { padding-left: .6rem; }
ul.tree li { margin: .35rem 0; }
.looks { display: grid; gap: .8rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 9rem), 1fr)); }
.looks img { width: 100%; max-width: 9rem; image-rendering: pixelated; border-radius: 4px;
  border: 1px solid var(--line); display: block; }
.kept { color: var(--good); font-weight: 600; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { .second { display: none; } h1 { font-size: 1.4rem; } }
@media print { body { max-width: none; } h2 { break-after: avoid; }
  figure { break-inside: avoid; } }
"""
