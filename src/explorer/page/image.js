// SPDX-License-Identifier: Apache-2.0
// The image, and what the chosen patch looks at in it.
const samples = [
  { name: "balloon over hills", paint: paintLandscape },
  { name: "still life", paint: paintStillLife },
  { name: "numbered patches", paint: paintNumbers },
];
let ownImage = null;

function fillShape(context, color, draw) {
  context.fillStyle = color;
  context.beginPath();
  draw();
  context.fill();
}

// Everything in a unit square that is stretched over the image.
function paintLandscape(context) {
  const sky = context.createLinearGradient(0, 0, 0, 0.7);
  sky.addColorStop(0, "#3f7fc4");
  sky.addColorStop(1, "#f6d9b0");
  context.fillStyle = sky;
  context.fillRect(0, 0, 1, 1);
  fillShape(context, "#fff2c9", () => context.arc(0.8, 0.2, 0.07, 0, 7));
  for (const [color, base, high, shift] of [["#7d8fb3", 0.62, 0.14, 0.4], ["#5c8a5a", 0.72, 0.1, 2.2], ["#2f6b3c", 0.84, 0.06, 4]]) {
    fillShape(context, color, () => {
      context.moveTo(0, 1);
      for (let x = 0; x <= 1.001; x += 0.02) context.lineTo(x, base - high * Math.sin(5 * x + shift) * Math.cos(2 * x));
      context.lineTo(1, 1);
    });
  }
  const stripes = ["#c8372d", "#f2b632", "#2b5f9e", "#f4efe6", "#c8372d"];
  stripes.forEach((color, i) =>
    fillShape(context, color, () => context.ellipse(0.36, 0.32, 0.17 * (1 - i / 5), 0.2, 0, 0, 7)));
  fillShape(context, "#6b4226", () => context.rect(0.325, 0.57, 0.07, 0.055));
  context.strokeStyle = "#3b2a1c";
  context.lineWidth = 0.004;
  for (const x of [-1, 1]) {
    context.beginPath();
    context.moveTo(0.36 + 0.1 * x, 0.48);
    context.lineTo(0.36 + 0.033 * x, 0.57);
    context.stroke();
  }
  fillShape(context, "#efe3d0", () => context.rect(0.66, 0.7, 0.16, 0.12));
  fillShape(context, "#a33b2c", () => { context.moveTo(0.63, 0.7); context.lineTo(0.74, 0.6); context.lineTo(0.85, 0.7); });
  fillShape(context, "#5b4636", () => context.rect(0.72, 0.755, 0.04, 0.065));
}

function paintStillLife(context) {
  context.fillStyle = "#d8cdbb";
  context.fillRect(0, 0, 1, 0.62);
  context.fillStyle = "#8a5a3c";
  context.fillRect(0, 0.62, 1, 0.38);
  fillShape(context, "#31597a", () => { context.rect(0.16, 0.3, 0.2, 0.42); context.rect(0.21, 0.14, 0.1, 0.2); });
  fillShape(context, "#b9d3df", () => context.rect(0.19, 0.34, 0.03, 0.34));
  for (const [x, y, r, color] of [[0.55, 0.66, 0.12, "#b93226"], [0.74, 0.7, 0.1, "#d9922e"], [0.64, 0.52, 0.09, "#7d9b3a"]]) {
    const ball = context.createRadialGradient(x - r / 3, y - r / 3, r / 8, x, y, r);
    ball.addColorStop(0, "#fff3d6");
    ball.addColorStop(0.35, color);
    ball.addColorStop(1, "#2a1a14");
    fillShape(context, ball, () => context.arc(x, y, r, 0, 7));
  }
  fillShape(context, "#e9e4da", () => context.ellipse(0.64, 0.83, 0.26, 0.05, 0, 0, 7));
}

function paintNumbers(context) {
  context.font = "0.4px sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const { height, width } = state;
  for (let i = 0; i < height * width; ++i) {
    const [row, column] = [Math.floor(i / width), i % width];
    context.fillStyle = `hsl(${Math.round((360 * column) / width)} 45% ${Math.round(30 + (50 * row) / height)}%)`;
    context.fillRect(column / width, row / height, 1.02 / width, 1.02 / height);
    context.save();
    context.translate((column + 0.5) / width, (row + 0.5) / height);
    context.scale(1 / width, 1 / height);
    context.fillStyle = row > height / 2 ? "#111" : "#fff";
    context.fillText(String(i + 1), 0, 0.05, 0.9);
    context.restore();
  }
}

// Fills the canvas; what does not have its shape is cut in the middle.
function paintImage(context, width, height) {
  context.setTransform(1, 0, 0, 1, 0, 0);
  if (ownImage) {
    const scale = Math.max(width / ownImage.width, height / ownImage.height);
    const [w, h] = [width / scale, height / scale];
    context.drawImage(ownImage, (ownImage.width - w) / 2, (ownImage.height - h) / 2, w, h, 0, 0, width, height);
    return;
  }
  context.setTransform(width, 0, 0, height, 0, 0);
  (samples[state.sample] ?? samples[0]).paint(context);
  context.setTransform(1, 0, 0, 1, 0, 0);
}

const color = (name, opacity = 1) =>
  `rgba(${getComputedStyle(document.documentElement).getPropertyValue(name).trim()}, ${opacity})`;
const groundColor = () => getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();

function sizeCanvas(canvas) {
  const width = Math.max(1, Math.round((canvas.clientWidth || 100) * (window.devicePixelRatio || 1)));
  canvas.width = width;
  canvas.height = Math.max(1, Math.round((width * state.height) / state.width));
}

// Hides what no head sees; `counts` says of each patch how many of `heads` do.
function drawLook(canvas, counts, side, numbered) {
  sizeCanvas(canvas);
  const context = canvas.getContext("2d");
  paintImage(context, canvas.width, canvas.height);
  const [w, h] = [canvas.width / state.width, canvas.height / state.height];
  const place = (patch) => [(patch % state.width) * w, Math.floor(patch / state.width) * h];
  context.globalAlpha = 0.84;
  context.fillStyle = groundColor();
  counts.forEach((count, patch) => { if (count === 0) context.fillRect(...place(patch), w + 0.5, h + 0.5); });
  context.globalAlpha = 1;
  context.lineWidth = Math.max(1, w / 14);
  context.strokeStyle = color("--side-" + side, 0.9);
  counts.forEach((count, patch) => {
    const [x, y] = place(patch);
    if (count > 0) context.strokeRect(x + context.lineWidth / 2, y + context.lineWidth / 2, w - context.lineWidth, h - context.lineWidth);
  });
  if (numbered) drawNumbers(context, counts, place, w, h);
  if (state.query >= state.cls) drawQuery(context, place(state.query - state.cls), w, h);
}

function drawNumbers(context, counts, place, w, h) {
  const size = Math.min(w, h) * 0.5;
  if (size < 8) return;
  context.font = `700 ${size}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = size / 4;
  context.lineJoin = "round";
  counts.forEach((count, patch) => {
    if (count < 2) return;
    const [x, y] = place(patch);
    context.strokeStyle = "rgba(0, 0, 0, 0.75)";
    context.strokeText(String(count), x + w / 2, y + h / 2);
    context.fillStyle = "#ffffff";
    context.fillText(String(count), x + w / 2, y + h / 2);
  });
}

function drawQuery(context, [x, y], w, h) {
  const line = Math.max(2, w / 7);
  context.lineWidth = line * 2;
  context.strokeStyle = "#000000";
  context.strokeRect(x, y, w, h);
  context.lineWidth = line;
  context.strokeStyle = "#ffe14d";
  context.strokeRect(x, y, w, h);
}

// Of each patch, how many of these heads' lists of keys hold it.
function countKeys(heads) {
  const counts = new Array(patchCount()).fill(0);
  for (const keys of heads) for (const key of keys) if (key >= state.cls) ++counts[key - state.cls];
  return counts;
}

const seen = (counts) => counts.filter((c) => c > 0).length;

function choosePatchAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * state.width);
  const row = Math.floor(((event.clientY - box.top) / box.height) * state.height);
  const inside = (value, end) => Math.min(Math.max(value, 0), end - 1);
  chooseQuery(state.cls + inside(row, state.height) * state.width + inside(column, state.width));
}

function movePatch(event) {
  const patch = Math.max(0, state.query - state.cls);
  const [row, column] = [Math.floor(patch / state.width), patch % state.width];
  const moves = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1], Home: [row, 0], End: [row, state.width - 1], PageUp: [0, column],
    PageDown: [state.height - 1, column] };
  if (event.key.toLowerCase() === "c" && state.cls > 0) return chooseQuery(0);
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  if (move[0] < 0 || move[0] >= state.height || move[1] < 0 || move[1] >= state.width) return;
  chooseQuery(state.cls + move[0] * state.width + move[1]);
}

function lookCanvas(attributes) {
  const canvas = element("canvas", attributes);
  canvas.addEventListener("click", (event) => choosePatchAt(canvas, event));
  return canvas;
}

// Canvases of one side: all heads together, then each.
function buildLook(side, heads) {
  const big = lookCanvas({ tabindex: "0", role: "application", "aria-roledescription": "image of patches",
    "aria-describedby": "said", "aria-label": `Image of ${state.height} by ${state.width} patches, all heads of ` +
      `${specOf(state.sides[side])}. Arrow keys choose a patch, C the class token.` });
  big.addEventListener("keydown", movePatch);
  const small = element("div", { class: "small" });
  for (let head = 0; head < heads; ++head)
    small.append(element("figure", {}, lookCanvas({ role: "img" }), element("figcaption")));
  return element("div", { class: "look" }, element("figure", {}, big, element("figcaption")), small);
}

function describeQuery() {
  if (state.query < state.cls) return state.cls > 1 ? `Class token ${state.query + 1}` : "The class token";
  const patch = state.query - state.cls;
  return `Row ${Math.floor(patch / state.width) + 1}, column ${(patch % state.width) + 1}`;
}

function updateLook(side, container, heads) {
  const [big, ...small] = container.querySelectorAll("canvas");
  const captions = container.querySelectorAll("figcaption");
  const all = countKeys(heads);
  drawLook(big, all, side, true);
  captions[0].replaceChildren(element("b", {}, "all heads"), ` ${seen(all)} of ${patchCount()} patches`);
  small.forEach((canvas, head) => {
    const counts = countKeys([heads[head]]);
    drawLook(canvas, counts, side, false);
    canvas.setAttribute("aria-label", `Head ${head + 1} looks at ${seen(counts)} patches`);
    captions[head + 1].replaceChildren(element("b", {}, "head " + (head + 1)), ` ${seen(counts)}`);
  });
  return `${specOf(state.sides[side])}: all heads together look at ${seen(all)} of ${patchCount()} patches` +
    (state.cls > 0 ? " and the class token" : "") + ".";
}

function distances(keys) {
  if (state.query < state.cls) return keys.length === tokenCount() ? "all tokens" : keys.map((k) => k - state.cls + 1).join(" ");
  const patches = keys.filter((key) => key >= state.cls).map((key) => key - state.query);
  return (state.cls > 0 ? "class token " : "") + patches.map((d) => (d > 0 ? "+" : "") + d).join(" ");
}

function keysTable(side, heads) {
  const rows = heads.map((keys, head) => element("tr", {}, element("th", { scope: "row" }, String(head + 1)),
    element("td", {}, distances(keys))));
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Keys of the patch, " + specOf(state.sides[side]) },
    element("table", { class: "keys" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "head"),
      element("th", { scope: "col" }, "keys as distances from the query"))), element("tbody", {}, ...rows)));
}

function loadOwnImage(file) {
  const image = new Image();
  image.onload = () => { ownImage = image; changedQuery(); };
  image.onerror = () => { byId("errors").textContent = `${file.name} is not an image that this browser reads`; };
  image.src = URL.createObjectURL(file);
}

function buildImageTools() {
  const select = byId("sample");
  samples.forEach((sample, i) => select.append(element("option", { value: i }, sample.name)));
  select.value = String(state.sample);
  select.addEventListener("change", () => {
    [ownImage, state.sample] = [null, Number(select.value)];
    byId("file").value = "";
    changedQuery();
  });
  byId("file").addEventListener("change", (event) => { if (event.target.files[0]) loadOwnImage(event.target.files[0]); });
  byId("class-token").addEventListener("click", () => chooseQuery(0));
}
