"""The look of the page: system fonts, light and dark, one column on a telephone, ink on paper.

Nothing scrolls sideways. On a narrow page a row of a wide table becomes a block, a cell per line
with the head of its column beside it.
"""

CSS = """
:root { --fg: #1b1f24; --soft: #57606a; --bg: #ffffff; --card: #f6f8fa; --line: #d0d7de;
  --accent: #0072b2; --good: #0a7d5a; }
@media screen and (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --soft: #9aa4ae;
  --bg: #0f1318; --card: #171c22; --line: #30363d; --accent: #5cb3e6; --good: #4cc38a; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 70rem; color: var(--fg);
  background: var(--bg); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .3rem 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .7rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 46rem; }
.lead { font-size: 1.08rem; }
.soft, figcaption, .note { color: var(--soft); font-size: .9rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; font-size: .88em; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.45; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; margin: .6rem 0; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); }
.board th, .fixed th { overflow-wrap: normal; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n, span.n { white-space: nowrap; }
.stack td { min-width: 3.5rem; }
td:last-child, th:last-child { padding-right: 0; }
.board .s { white-space: nowrap; font-variant-numeric: tabular-nums; }
.board td.k { min-width: 11rem; }
summary { cursor: pointer; color: var(--soft); }
details { margin: .5rem 0; }
tr.best td { color: var(--good); font-weight: 600; }
tr.dim td { color: var(--soft); }
svg.folds { width: 8.75rem; height: 1rem; display: block; margin-top: .2rem; }
.folds line { stroke: var(--line); }
.folds circle { fill: var(--accent); }
.folds .fold { opacity: .35; }
.best .folds circle { fill: var(--good); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .7rem;
  margin: 1.1rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .8rem; font-size: .9rem; line-height: 1.4; color: var(--soft); }
.card b { display: block; font-size: 1.3rem; line-height: 1.3; color: var(--fg);
  overflow-wrap: anywhere; }
.bars { max-width: 46rem; margin: .8rem 0; font-size: .9rem; }
.bar { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr 8rem; gap: .7rem;
  align-items: center; padding: .15rem 0; }
.bar .name { overflow-wrap: anywhere; line-height: 1.3; }
.track { height: .8rem; background: var(--card); border-radius: 3px; }
.track i { display: block; height: 100%; background: var(--accent); border-radius: 3px; }
.pictures { display: grid; gap: 1.4rem; margin-top: 1rem; grid-template-columns:
  repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
figure { margin: 0; min-width: 0; max-width: 30rem; }
figure svg { width: 100%; height: auto; color: var(--fg); display: block; }
.math { padding: .6rem 0; }
.math svg { color: var(--fg); display: block; max-width: 100%; height: auto; }
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
@media (max-width: 62rem) {
  .second, .stack thead { display: none; }
  .stack, .stack tbody { display: block; }
  .stack tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .stack td { display: inline; border: 0; padding: 0; white-space: normal; }
  .stack td::before { content: attr(data-head) "\\00a0"; color: var(--soft); font-size: .92em; }
  .stack td::after { content: "   "; white-space: pre-wrap; }
}
@media (max-width: 40rem) {
  h1 { font-size: 1.4rem; }
  .board thead { display: none; }
  .board, .board tbody { display: block; }
  .board tr { display: grid; grid-template-columns: auto 1fr; gap: 0 1rem; padding: .45rem 0;
    border-bottom: 1px solid var(--line); }
  .board td { border: 0; padding: .05rem 0; }
  .board td.k, .board td.l { grid-column: 1 / -1; min-width: 0; }
  svg.folds { width: 100%; }
  .fixed { font-size: .82rem; }
  .fixed th, .fixed td { padding-right: .35rem; }
  .bar { grid-template-columns: 1fr auto; gap: .1rem .7rem; padding: .3rem 0; }
  .bar .track { grid-column: 1 / -1; grid-row: 2; }
}
@media print {
  @page { margin: 16mm 14mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  h1, h2, summary { break-after: avoid; }
  figure, .card, tr, .bar, pre { break-inside: avoid; }
  thead { display: table-header-group; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .track, .track i, .card, .folds * { print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
