// SPDX-License-Identifier: Apache-2.0
// The form: which mechanisms and options there are comes from the registry.
const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// An option of a few words is a list, any other a line whose placeholder is the default.
function optionControl(side, option) {
  const id = "option-" + side + "-" + option.key;
  const control = option.words.length > 0
    ? element("select", { id }, ...option.words.map((word) => element("option", { value: word }, word)))
    : element("input", { id, type: "text", placeholder: option.default, spellcheck: "false", autocapitalize: "off" });
  control.setAttribute("aria-describedby", id + "-help");
  const written = state.sides[side].options[option.key];
  control.value = written ?? (option.words.length > 0 ? option.default : "");
  control.addEventListener("input", () => {
    const value = control.value.trim();
    state.sides[side].options[option.key] = value === option.default ? "" : value;
    changed();
  });
  return element("label", {}, option.key, control, element("small", { id: id + "-help" }, option.help));
}

function showOptions(side, mechanisms) {
  const mechanism = mechanisms.find((m) => m.name === state.sides[side].name);
  byId("summary-" + side).textContent = mechanism ? mechanism.summary + "." : "";
  byId("options-" + side).replaceChildren(...(mechanism?.options ?? []).map((o) => optionControl(side, o)));
}

function buildMechanism(side, mechanisms) {
  const select = byId("mechanism-" + side);
  if (side === 1) select.append(element("option", { value: "" }, "nothing"));
  for (const m of mechanisms) select.append(element("option", { value: m.name }, m.name));
  // A name that the registry does not hold stays in the list, for the answer to say what is wrong with it.
  const { name } = state.sides[side];
  if (name && !mechanisms.some((m) => m.name === name)) select.append(element("option", { value: name }, name));
  select.value = name;
  select.addEventListener("change", () => {
    state.sides[side] = { name: select.value, options: {} };
    showOptions(side, mechanisms);
    changed();
  });
  showOptions(side, mechanisms);
}

function buildNumber(key) {
  const input = byId(key);
  input.value = state[key] ?? "";
  input.addEventListener("input", () => {
    if (!input.checkValidity() || (input.value === "" && key !== "layer")) return;
    const token = state.query - state.cls;
    state[key] = input.value === "" ? null : Number(input.value);
    // The same patch stays chosen as long as there is one.
    if (key === "cls" && token >= 0) state.query = token + state.cls;
    changed();
  });
}

function buildControls(mechanisms) {
  for (const side of [0, 1]) buildMechanism(side, mechanisms);
  for (const key of ["height", "width", "heads", "cls", "layer"]) buildNumber(key);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}
