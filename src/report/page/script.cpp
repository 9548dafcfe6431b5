// SPDX-License-Identifier: Apache-2.0
// The page's only script: over an image, the keys of the patch that is pointed at. Without it the page lacks nothing
// else.
#include "report/page/sections.h"

namespace fib::report {

std::string key_script() {
  return R"js(
for (const box of document.querySelectorAll(".looks")) {
  const { grid, causal, heads } = JSON.parse(box.dataset.support);
  const patches = grid * grid, overlay = box.querySelector("svg"), said = box.nextElementSibling;
  const keysOf = (head, query) => {
    const keys = head.diagonal ? [query] : [];
    for (const offset of head.offsets) keys.push(query - offset, ...(causal ? [] : [query + offset]));
    for (const [from, to] of head.pairs) if (from === query) keys.push(to);
    return keys.filter((key) => key >= 0 && key < patches);
  };
  let query = Math.floor(grid / 2) * grid + Math.floor(grid / 2);
  const square = (patch, rest) => `<rect x="${patch % grid}" y="${Math.floor(patch / grid)}" width="1" height="1" ${rest}/>`;
  const show = (chosen) => {
    query = chosen;
    const counts = new Array(patches).fill(0);
    for (const head of heads) for (const key of keysOf(head, query)) ++counts[key];
    overlay.innerHTML = counts.map((count, patch) => square(patch, count ? 'class="key"' : 'class="veil"')).join("") +
      square(query, 'class="query"');
    const most = Math.max(...counts);
    said.textContent = `Row ${Math.floor(query / grid) + 1}, column ${query % grid + 1}: ${counts.filter(Boolean).length} of ` +
      `${patches} patches are keys of some head; ` + (most > 1 ? `up to ${most} heads share one.` : "no two heads share one.");
  };
  const point = (event) => {
    const frame = overlay.getBoundingClientRect();
    const place = (at, from, size) => Math.min(grid - 1, Math.max(0, Math.floor((at - from) / size * grid)));
    show(place(event.clientY, frame.top, frame.height) * grid + place(event.clientX, frame.left, frame.width));
  };
  box.addEventListener("pointermove", point);
  box.addEventListener("pointerdown", point);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid, ArrowDown: grid }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (query + step >= 0 && query + step < patches) show(query + step);
  });
  show(query);
}
)js";
}

}  // namespace fib::report
