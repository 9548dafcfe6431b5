// SPDX-License-Identifier: Apache-2.0
// Cost: a table of what is shown, and a curve over the number of tokens.
const curveSides = [4, 5, 7, 10, 14, 20, 28, 40, 56, 64];
// A point that took longer than this ends a curve: the page must answer.
const slowestPoint = 400;

function compact(value) {
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const [size, unit] = units.find(([least]) => value >= least) ?? [1, ""];
  const scaled = value / size;
  return (scaled >= 100 || Number.isInteger(scaled) ? scaled.toFixed(0) : scaled.toPrecision(3)) + unit;
}

const percent = (ratio) => (100 * ratio).toFixed(2) + " %";

function costColumn(name, figures, full) {
  return [name, figures.pairs.toLocaleString("en"), percent(figures.pruning_ratio), percent(figures.pruning_ratio_with_cls),
    compact(figures.macs), (full.macs / figures.macs).toFixed(figures.macs > full.macs / 10 ? 2 : 1) + " ×"];
}

function costTable(results) {
  const full = results[0].answer.cost.full;
  const rows = results.map((r) => costColumn(specOf(state.sides[r.side]), r.answer.cost.mechanism, full));
  rows.push(costColumn("full attention", full, full));
  const titles = ["attention", "pairs, all tokens", "pruned, patches", "pruned, all tokens", "multiply-adds", "fewer than full"];
  byId("cost-table").replaceChildren(
    element("thead", {}, element("tr", {}, ...titles.map((t) => element("th", { scope: "col" }, t)))),
    element("tbody", {}, ...rows.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name),
      ...cells.map((cell) => element("td", {}, cell))))));
}

// Points of one side, each in a turn of its own, so that the page stays awake; `still` says whether they are wanted.
async function curveOf(side, still) {
  const points = [];
  for (const grid of curveSides) {
    await new Promise((resume) => setTimeout(resume));
    if (!still()) return null;
    const began = performance.now();
    try {
      const cost = patterns.cost(requestOf(state.sides[side], { height: grid, width: grid }));
      points.push({ tokens: grid * grid, macs: cost.mechanism.macs, full: cost.full.macs });
    } catch {
      continue;  // options that do not fit so few, or so many, tokens
    }
    if (performance.now() - began > slowestPoint) break;
  }
  return points;
}

function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const superscript = (n) => String(n).replace(/./g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

// Both axes in powers of ten and their thirds; labels stand outside of the data.
function drawCurves(series) {
  // As many units as pixels, so that letters keep their size on a phone.
  const width = Math.min(640, Math.max(300, byId("cost-plot").clientWidth || 640));
  const [height, left, right, top, bottom] = [340, 62, 14, 26, 48];
  const all = series.flatMap((s) => s.points);
  const low = Math.floor(Math.log10(Math.min(...all.map((p) => p.macs))));
  const high = Math.ceil(Math.log10(Math.max(...all.map((p) => p.macs))));
  const [first, last] = [curveSides[0], curveSides.at(-1)].map((s) => Math.log10(s * s));
  const x = (tokens) => left + ((Math.log10(tokens) - first) / (last - first)) * (width - left - right);
  const y = (macs) => top + ((high - Math.log10(macs)) / (high - low)) * (height - top - bottom);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": "Multiply-adds of one layer against the number of patch tokens: " + series.map((s) => s.name).join(", ") });
  const text = (attributes, line) => svgElement("text", { fill: "currentColor", ...attributes }, line);
  for (let power = low; power <= high; ++power) {
    svg.append(svgElement("line", { x1: left, x2: width - right, y1: y(10 ** power), y2: y(10 ** power), stroke: "var(--line)" }),
      text({ x: left - 8, y: y(10 ** power) + 4, "text-anchor": "end" }, "10" + superscript(power)));
  }
  for (const side of [4, 7, 14, 28, 56]) {
    svg.append(svgElement("line", { x1: x(side * side), x2: x(side * side), y1: top, y2: height - bottom, stroke: "var(--line)" }),
      text({ x: x(side * side), y: height - bottom + 18, "text-anchor": "middle" }, (side * side).toLocaleString("en")));
  }
  svg.append(text({ x: left - 46, y: 14 }, "multiply-adds"),
    text({ x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, "patch tokens N"));
  for (const s of series) {
    const path = s.points.map((p, i) => (i ? "L" : "M") + x(p.tokens).toFixed(1) + " " + y(p.macs).toFixed(1)).join("");
    svg.append(svgElement("path", { d: path, fill: "none", stroke: s.color, "stroke-width": 2.5, "stroke-dasharray": s.dashes }));
    for (const p of s.points) svg.append(svgElement("circle", { cx: x(p.tokens), cy: y(p.macs), r: 3, fill: s.color }));
  }
  return svg;
}

function curveLegend(series) {
  return element("ul", { class: "legend" }, ...series.map((s) => {
    const line = element("i");
    line.style.background = s.color;
    return element("li", {}, line, s.name);
  }));
}

function curveTable(series) {
  const tokens = curveSides.map((s) => s * s);
  const cell = (s, n) => { const p = s.points.find((q) => q.tokens === n); return p ? compact(p.macs) : "–"; };
  byId("curve-table").replaceChildren(
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "N"),
      ...series.map((s) => element("th", { scope: "col" }, s.name)))),
    element("tbody", {}, ...tokens.map((n) => element("tr", {}, element("th", { scope: "row" }, n.toLocaleString("en")),
      ...series.map((s) => element("td", {}, cell(s, n)))))));
}

async function showCurves(still) {
  const series = [];
  let full = [];
  for (const side of shownSides()) {
    const points = await curveOf(side, still);
    if (points === null) return;
    if (points.length > full.length) full = points.map((p) => ({ tokens: p.tokens, macs: p.full }));
    series.push({ name: specOf(state.sides[side]), points, color: `rgb(var(--side-${side}))`, dashes: side ? "7 4" : "none" });
  }
  series.push({ name: "full attention", points: full, color: "rgb(var(--full))", dashes: "2 4" });
  if (full.length === 0) return byId("cost-plot").replaceChildren();
  byId("cost-plot").replaceChildren(drawCurves(series), curveLegend(series));
  curveTable(series);
  document.body.dataset.curves = "done";
}
