// SPDX-License-Identifier: Apache-2.0
// What happens when something is chosen: all is asked anew, or only what depends on the query.
let patterns = null;
let results = [];  // of the sides that could be shown: side, answer, and what is drawn again for another query
let generation = 0;

function sideBox(side, ...children) {
  return element("div", { class: "side", "data-side": side }, element("h3", {}, specOf(state.sides[side])), ...children);
}

function fillSides(id, make) {
  const box = byId(id);
  box.replaceChildren(...results.map((r) => sideBox(r.side, ...make(r))));
  box.classList.toggle("two", results.length > 1);
}

const noPattern = (r) => element("p", { class: "none" },
  `${r.answer.name} has no mask: which pairs it keeps depends on the image, not on positions.`);

function openSide(side) {
  const answer = patterns.open(side, requestOf(state.sides[side]));
  return { side, answer: { ...answer, name: state.sides[side].name } };
}

function openSides() {
  results = [];
  const errors = [];
  for (const side of shownSides()) {
    try {
      results.push(openSide(side));
    } catch (error) {
      errors.push(error.message);
    }
  }
  byId("errors").textContent = errors.join(" · ");
}

function showMasks() {
  fillSides("mask-sides", (r) => [r.answer.pattern ? (r.masks = buildMasks(r.answer.pattern)) : noPattern(r)]);
  for (const r of results)
    r.masks?.querySelectorAll("canvas").forEach((canvas, head) => drawMask(canvas, r.side, head));
}

function showOverlap() {
  fillSides("overlap-sides", (r) => {
    if (!r.answer.pattern) return [noPattern(r)];
    const table = patterns.overlap(r.side);
    return [element("p", {}, overlapSentence(table)), element("p", {}, desiderataSentence(r.answer.pattern.desiderata)),
      overlapTable(r.side, table)];
  });
}

function showQuery() {
  const said = [];
  for (const r of results) {
    if (!r.answer.pattern) continue;
    r.keys = patterns.keys(r.side, state.query);
    said.push(updateLook(r.side, r.look, r.keys));
    r.masks.querySelectorAll("canvas").forEach(markQuery);
  }
  byId("said").textContent = describeQuery() + ". " + said.join(" ");
  fillSides("keys-sides", (r) => [r.answer.pattern ? keysTable(r.side, r.keys) : noPattern(r)]);
}

function keepQueryInside() {
  if (state.query >= tokenCount()) state.query = tokenCount() - 1;
  byId("class-token").disabled = state.cls === 0;
}

function showAll() {
  keepQueryInside();
  openSides();
  for (const id of ["look", "masks", "overlap", "cost", "same"]) byId(id).hidden = results.length === 0;
  writeAddress();
  if (results.length === 0) return;
  fillSides("look-sides", (r) => [r.answer.pattern ? (r.look = buildLook(r.side, r.answer.pattern.heads.length)) : noPattern(r)]);
  showMasks();
  showQuery();
  showOverlap();
  costTable(results);
  fillSides("same-sides", (r) => sameElsewhere(r.side, r.answer));
  const mine = ++generation;
  document.body.dataset.curves = "working";
  showCurves(() => mine === generation);
}

// Several changes before the next frame are one.
function soon(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; work(); document.body.dataset.shown = Number(document.body.dataset.shown ?? 0) + 1; }, 30);
  };
}
const changed = soon(() => showAll());
const changedQuery = soon(() => { writeAddress(); showQuery(); });

function chooseQuery(query) {
  state.query = query;
  changedQuery();
}

async function start() {
  patterns = new Patterns(await loadPatterns());
  const mechanisms = patterns.mechanisms();
  readAddress();
  buildControls(mechanisms);
  buildImageTools();
  showAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  // Another link opened in the same tab.
  addEventListener("hashchange", () => location.reload());
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; changed(); } });
  document.body.dataset.ready = "yes";
}

start().catch((error) => { byId("errors").textContent = "This browser cannot run the page: " + error.message; });
