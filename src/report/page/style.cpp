// SPDX-License-Identifier: Apache-2.0
#include "report/page/sections.h"

namespace fib::report {

std::string style_sheet() {
  return R"css(
:root { color-scheme: light dark;
  --ground: #ffffff; --card: #f6f8fb; --text: #1d2433; --muted: #566072; --line: #d5dbe6; --accent: #b34700;
  --grid: #d5dbe6;
  --mask-offset: #1f4e9c; --mask-class: #d98a1a; --mask-listed: #c81e5a;
  --mask-neighbor: #008c64; --mask-summary: #7a48be;
  --heat: 0, 95, 155; --series-0: #5c5c5c; --series-1: #c04e00; --series-2: #0072b2; --series-3: #007a58;
  --series-4: #a8487f;
  --series-5: #9a6a00; --series-6: #1f78a8; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #12151c; --card: #1b202b; --text: #e6e9f0; --muted: #a3adbf; --line: #343c4c; --accent: #ffa366;
  --grid: #343c4c;
  --mask-offset: #7db2ff; --mask-class: #f0b050; --mask-listed: #ff7aa8;
  --mask-neighbor: #4fd0a5; --mask-summary: #b99af0;
  --heat: 86, 180, 233; --series-0: #b0b0b0; --series-1: #ff8c42; --series-2: #56b4ff; --series-3: #2fc79a;
  --series-4: #e79ac6;
  --series-5: #f0b73c; --series-6: #8fd0f5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 3rem 0 .25rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
p { margin: .25rem 0 1rem; max-width: 46rem; }
.lead, figcaption, .muted { color: var(--muted); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0 0; }
a { color: var(--accent); }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.wide { overflow-x: auto; }
.wide th:first-child { position: sticky; left: 0; background: var(--ground); z-index: 1; }
@media (max-width: 40rem) { .wide th:first-child { max-width: 40vw; white-space: normal; overflow-wrap: anywhere; } }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem 1.2rem; }
.card h2 { margin: 0; font-size: 1rem; color: var(--muted); font-weight: 600; }
.card p { font-size: .88rem; margin: .6rem 0 0; color: var(--muted); }
.card .big { font-size: 2.9rem; line-height: 1.1; font-weight: 700; letter-spacing: -.02em; color: var(--text);
  margin: .15rem 0 .5rem; font-variant-numeric: tabular-nums; }
.card ul { list-style: none; margin: 0; padding: 0; font-size: .92rem; }
.card li { display: flex; justify-content: space-between; gap: 1rem; border-top: 1px solid var(--line); padding: .2rem 0; }
.card li > :last-child { white-space: nowrap; }
.run i { display: inline-block; width: .75rem; height: .75rem; border-radius: .15rem; margin-right: .45rem;
  vertical-align: -.05rem; }
.run { overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .2rem 1rem; margin: 0 0 1.5rem; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.heat { display: inline-block; width: 5rem; height: .7rem; vertical-align: -.05rem; border-radius: .15rem;
  background: linear-gradient(90deg, #000004, #57106e, #bc3754, #f98e09, #fcffa4); }
.maps td, .maps th { border: 0; padding: .25rem .35rem; text-align: left; vertical-align: top; }
.maps thead th { padding-top: .5rem; }
.maps thead tr + tr th:first-child { position: static; }
.maps thead .run { font-size: .82rem; white-space: nowrap; }
.keys { flex: 0 1 17.5rem; width: 17.5rem; }
.looks { position: relative; touch-action: none; cursor: crosshair; }
.looks img, .looks svg { display: block; width: 100%; height: auto; border-radius: 0; }
.looks svg { position: absolute; inset: 0; height: 100%; }
.looks .veil { fill: var(--ground); fill-opacity: .82; }
.looks .key { fill: none; stroke: var(--mechanism); stroke-width: .09; }
.looks .query { fill: none; stroke: #ffe14d; stroke-width: .22; paint-order: stroke; }
.keys figcaption { font-size: .85rem; margin-top: .4rem; min-height: 4.2em; }
.pattern { flex: 1 1 22rem; min-width: 0; overflow-x: auto; }
.pattern svg { width: 100%; height: auto; display: block; min-width: 30rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.words, th.words { text-align: left; }
thead th { color: var(--muted); font-weight: 600; border-bottom: 2px solid var(--line); white-space: normal;
  vertical-align: bottom; }
.best { font-weight: 700; }
.row { display: flex; flex-wrap: wrap; gap: 1.25rem; align-items: flex-start; margin-bottom: 1.25rem; }
figure { margin: 0; }
.plot { flex: 1 1 20rem; min-width: 0; width: 100%; }
.plot svg { width: 100%; height: auto; display: block; }
.paper { background: #ffffff; border: 1px solid var(--line); border-radius: .5rem; padding: .5rem; overflow-x: auto; }
.paper svg { max-width: 100%; height: auto; display: block; min-width: 34rem; }
img { display: block; image-rendering: pixelated; border-radius: .25rem; max-width: 100%; height: auto; }
.image { width: 8rem; font-size: .82rem; line-height: 1.35; }
.image img { width: 8rem; }
.image figcaption { margin-top: .3rem; }
.confusion td, .confusion th { padding: .3rem .45rem; font-size: .82rem; text-align: right;
  border: 1px solid var(--line); }
.confusion th { font-weight: 500; white-space: nowrap; }
.confusion th:first-child { text-align: right; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  overflow-x: auto;
  font-size: .85rem; line-height: 1.45; }
details { margin: .75rem 0; }
summary { cursor: pointer; font-weight: 600; padding: .25rem 0; }
footer { margin-top: 4rem; padding-bottom: 2.5rem; color: var(--muted); font-size: .9rem; }
@media (max-width: 40rem) { body { font-size: 15px; } h1 { font-size: 1.5rem; } th, td { padding: .35rem .5rem; }
  .image, .image img { width: 6.2rem; } .row { gap: .75rem; } }
@media print { :root { --ground: #ffffff; --card: #ffffff; --text: #000000; --muted: #444444; --line: #bbbbbb;
  --grid: #cccccc;
  --accent: #000000; --series-0: #5c5c5c; --series-1: #c04e00; --series-2: #0072b2; }
  body { font-size: 10pt; } nav { display: none; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; }
  .wide, pre { overflow: visible; white-space: pre-wrap; } }
)css";
}

}  // namespace fib::report
