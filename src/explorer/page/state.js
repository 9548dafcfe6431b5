// SPDX-License-Identifier: Apache-2.0
// All that a person chooses, kept in the page's address so that a link shows the same.
const state = {
  height: 14, width: 14, heads: 12, cls: 1, layer: null, query: 101, sample: 0,
  // Of either side: the mechanism's name, and options as they were written; no name shows nothing.
  sides: [{ name: "fibottention", options: {} }, { name: "", options: {} }],
};

function specOf(side) {
  const options = Object.entries(side.options).filter(([, value]) => value !== "");
  return side.name + options.map(([key, value], i) => (i ? "," : ":") + key + "=" + value).join("");
}

function parseSpec(text) {
  const [name, rest] = [text.split(":")[0], text.slice(text.indexOf(":") + 1)];
  const options = text.includes(":") ? rest.split(",").map((part) => part.split("=")) : [];
  return { name, options: Object.fromEntries(options.filter((o) => o.length === 2)) };
}

function requestOf(side, geometry = state) {
  const { height, width, heads, cls, layer } = { ...state, ...geometry };
  return { attention: specOf(side), height, width, heads, cls, layer };
}

const patchCount = () => state.height * state.width;
const tokenCount = () => state.cls + patchCount();
const shownSides = () => [0, 1].filter((i) => state.sides[i].name !== "");

function writeAddress() {
  const fields = new URLSearchParams({
    a: specOf(state.sides[0]), b: specOf(state.sides[1]), grid: state.height + "x" + state.width, heads: state.heads,
    cls: state.cls, layer: state.layer ?? "", query: state.query, image: state.sample,
  });
  history.replaceState(null, "", "#" + fields.toString().replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%3D", "="));
}

function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const number = (key, otherwise) => (/^\d+$/.test(fields.get(key) ?? "") ? Number(fields.get(key)) : otherwise);
  const grid = /^(\d+)x(\d+)$/.exec(fields.get("grid") ?? "");
  if (grid) [state.height, state.width] = [Number(grid[1]), Number(grid[2])];
  state.heads = number("heads", state.heads);
  state.cls = number("cls", state.cls);
  state.layer = number("layer", state.layer);
  state.query = number("query", state.query);
  state.sample = number("image", state.sample);
  if (fields.has("a")) state.sides[0] = parseSpec(fields.get("a"));
  if (fields.has("b")) state.sides[1] = parseSpec(fields.get("b"));
}
