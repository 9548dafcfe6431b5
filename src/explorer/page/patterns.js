// SPDX-License-Identifier: Apache-2.0
// The patterns' own code behind a few functions; what it refuses becomes an Error with its one line.
class Patterns {
  constructor(module) {
    this.module = module;
  }
  ask(name, ...values) {
    const types = values.map((v) => (typeof v === "string" ? "string" : "number"));
    const answer = JSON.parse(this.module.ccall("fib_explorer_" + name, "string", types, values));
    if (answer && answer.error) throw new Error(answer.error);
    return answer;
  }
  mechanisms() { return this.ask("mechanisms"); }
  open(side, request) { return this.ask("open", side, JSON.stringify(request)); }
  cost(request) { return this.ask("cost", JSON.stringify(request)); }
  keys(side, query) { return this.ask("keys", side, query); }
  overlap(side) { return this.ask("overlap", side); }
  svg(side) { return this.ask("svg", side); }
  // pixels x pixels bytes: 0 nothing, 1 offset, 2 neighbor on the grid, 3 class token, 4 listed pair.
  mask(side, head, pixels) {
    const at = this.module.ccall("fib_explorer_mask", "number", ["number", "number", "number"], [side, head, pixels]);
    return this.module.HEAPU8.slice(at, at + pixels * pixels);
  }
}
