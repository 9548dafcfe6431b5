// SPDX-License-Identifier: Apache-2.0
// The same pattern elsewhere: a command, a line of Python, files.
const quoted = (text) => (/^[\w:=.-]*$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");

function commandLine(side, isPattern) {
  const { heads, cls, layer } = state;
  const spec = quoted(specOf(state.sides[side]));
  if (!isPattern) return `fib flops --model vit_base_patch16_224 --attention ${spec}`;
  return `fib pattern --tokens ${patchCount()} --heads ${heads} --attention ${spec} --cls ${cls}` +
    (layer === null ? "" : ` --layer ${layer}`) + " --json";
}

// Python has the mechanisms that are patterns.
function pythonLine(side) {
  const { heads, cls, layer } = state;
  const spec = JSON.stringify(specOf(state.sides[side]));
  return `fibottention.support(${spec}, tokens=${patchCount()}, heads=${heads}, cls=${cls}` +
    (layer === null ? "" : `, layer=${layer}`) + ")";
}

function copyLine(line, what) {
  const button = element("button", { type: "button", "aria-label": "Copy the " + what }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(line);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it";  // a page opened from a file may not be allowed to
      getSelection().selectAllChildren(button.previousSibling);
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return element("div", { class: "line" }, element("pre", { "data-what": what }, line), button);
}

function saveFile(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

function fileButtons(side, answer) {
  const name = state.sides[side].name + "-" + patchCount();
  const svg = element("button", { type: "button", "data-save": "svg" }, "Save SVG");
  svg.addEventListener("click", () => saveFile(name + ".svg", "image/svg+xml", patterns.svg(side)));
  const json = element("button", { type: "button", "data-save": "json" }, "Save JSON");
  json.addEventListener("click", () => saveFile(name + ".json", "application/json", JSON.stringify(answer.pattern, null, 2) + "\n"));
  return element("div", { class: "tools" }, svg, json);
}

function sameElsewhere(side, answer) {
  const isPattern = answer.pattern !== null;
  const parts = [copyLine(commandLine(side, isPattern), "command")];
  if (isPattern) parts.push(copyLine(pythonLine(side), "line of Python"), fileButtons(side, answer));
  return parts;
}
