// SPDX-License-Identifier: Apache-2.0
// Masks of all heads, and how much heads share.
function shorten(numbers, most = 8) {
  if (numbers.length <= most) return numbers.join(" ");
  return numbers.slice(0, most - 2).join(" ") + " … " + numbers[numbers.length - 1] + " (" + numbers.length + ")";
}

// What a head looks at in a few words.
function describeHead(head) {
  const offsets = (head.diagonal ? [0] : []).concat(head.offsets);
  const parts = offsets.length > 0 ? ["offsets " + shorten(offsets)] : [];
  if (head.neighbor_pairs > 0) parts.push("neighbors");
  if (head.summary_pairs > 0) parts.push(head.summary_pairs / (state.height * state.width) + " summaries");
  if (head.listed_pairs > 0) parts.push(head.listed_pairs.toLocaleString("en") + " listed pairs");
  return parts.join(", ") || "no offsets";
}

function rgbOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).split(",").map(Number);
}

function drawMask(canvas, side, head) {
  const shown = Math.round((canvas.clientWidth || 150) * (window.devicePixelRatio || 1));
  // Fewer pixels than tokens keep every pair visible; more would only repeat them.
  const pixels = Math.min(tokenCount(), Math.max(shown, 64));
  canvas.width = canvas.height = pixels;
  const context = canvas.getContext("2d");
  const image = context.createImageData(pixels, pixels);
  const colors = [null, rgbOf("--side-" + side), rgbOf("--neighbor"), rgbOf("--cls"), rgbOf("--listed")];
  patterns.mask(side, head, pixels).forEach((kind, i) => {
    if (kind > 0) image.data.set([...colors[kind], 255], 4 * i);
    // A single pixel among many is not seen.
    if (kind === 4 && pixels > 100 && (i + 1) % pixels > 0) image.data.set([...colors[kind], 255], 4 * (i + 1));
  });
  context.putImageData(image, 0, 0);
  canvas.kept = context.getImageData(0, 0, pixels, pixels);
}

// The row of the chosen query, over the mask as it was.
function markQuery(canvas) {
  const context = canvas.getContext("2d");
  context.putImageData(canvas.kept, 0, 0);
  const scale = canvas.height / tokenCount();
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
  context.globalAlpha = 0.35;
  context.fillRect(0, Math.floor(state.query * scale), canvas.width, Math.max(1, Math.ceil(scale)));
  context.globalAlpha = 1;
}

function buildMasks(pattern) {
  const grid = element("div", { class: "masks" });
  for (const head of pattern.heads) {
    const words = `window ${head.window}, ${describeHead(head)}, ${head.pairs.toLocaleString("en")} pairs`;
    grid.append(element("figure", {}, element("canvas", { role: "img", "aria-label": `Mask of head ${head.head}: ${words}` }),
      element("figcaption", {}, element("b", {}, "head " + head.head), " " + words)));
  }
  return grid;
}

function overlapTable(side, table) {
  const heading = (scope, text) => element("th", { scope }, text);
  const rows = table.map((row, a) => element("tr", {}, heading("row", String(a + 1)), ...row.map((share) => {
    const cell = element("td", {}, String(Math.round(100 * share)));
    cell.style.background = color("--side-" + side, (0.5 * share).toFixed(2));
    return cell;
  })));
  const head = element("tr", {}, heading("col", "head"), ...table.map((_, b) => heading("col", String(b + 1))));
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Overlap of heads, " + specOf(state.sides[side]) },
    element("table", { class: "heat" }, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function overlapSentence(table) {
  const others = table.flatMap((row, a) => row.slice(0, a));
  if (others.length === 0) return "One head alone.";
  const mean = others.reduce((sum, x) => sum + x, 0) / others.length;
  return `${(100 * mean).toFixed(1)} % on average, ${(100 * Math.max(...others)).toFixed(1)} % at most.`;
}

const share = (value) => `${(100 * value).toFixed(1)} %`;

// The paper's desiderata as numbers: union, most heads of a pair, and how far tokens see after some layers.
function desiderataSentence(d) {
  const parts = [];
  if (d.union_pairs !== null)
    parts.push(`Together the heads keep ${d.union_pairs.toLocaleString("en")} pairs, ${share(d.union_share)} of all; ` +
      `a pair is in ${d.most_heads_of_a_pair} head${d.most_heads_of_a_pair === 1 ? "" : "s"} at most.`);
  if (d.reach !== null) {
    const all = d.reach.findIndex((x) => x === 1);
    parts.push(`Without class tokens a patch knows ${share(d.reach[0])} of the others after one layer, ` +
      (all >= 0 ? `all of them after ${all + 1}` : `${share(d.reach.at(-1))} after ${d.reach.length}`) +
      `; within one head ${share(d.reach_of_one_head.at(-1))} after ${d.reach_of_one_head.length}.`);
  }
  return parts.join(" ");
}
