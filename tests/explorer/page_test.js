// SPDX-License-Identifier: Apache-2.0
// The explorer in a real browser: every control, every mechanism, and its figures beside those of `fib pattern`.
// Started by scripts/test-explorer.sh, which sets CHROMIUM, FIB, PAGE, PUPPETEER and, where images are wanted, SHOTS.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const puppeteer = require(process.env.PUPPETEER);

const complaints = [];
const work = fs.mkdtempSync(path.join(os.tmpdir(), "explorer-"));
const fib = (...words) => execFileSync(process.env.FIB, words, { encoding: "utf8" });

async function openPage(browser, hash, { width = 1280, dark = false } = {}) {
  const page = await browser.newPage();
  page.on("console", (message) => { if (message.type() !== "log") complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) complaints.push("asked for " + request.url()); });
  await page.setViewport({ width, height: 900, deviceScaleFactor: 1 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  await page.goto("file://" + process.env.PAGE + hash);
  await page.waitForSelector("body[data-ready=yes]");
  return page;
}

// Does something and waits until the page has shown what follows from it.
async function after(page, act) {
  const shown = await page.evaluate(() => document.body.dataset.shown ?? "0");
  await act();
  await page.waitForFunction((before) => (document.body.dataset.shown ?? "0") !== before, {}, shown);
}

const set = (page, id, value) => after(page, () => page.$eval("#" + id, (control, v) => {
  control.value = v;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  if (control.tagName === "SELECT") control.dispatchEvent(new Event("input", { bubbles: true }));
}, String(value)));

const text = (page, selector) => page.$eval(selector, (e) => e.textContent);

async function everyMechanismAgreesWithTheProgram(browser) {
  const page = await openPage(browser, "#grid=6x7&heads=5&cls=2&layer=3");
  const mechanisms = await page.evaluate(() => patterns.mechanisms());
  for (const m of mechanisms) {
    await set(page, "mechanism-0", m.name);
    assert.equal(await text(page, "#errors"), "", m.name);
    if (!m.pattern) {
      assert.match(await text(page, "#mask-sides"), /has no mask/);
      continue;
    }
    const expected = JSON.parse(fib("pattern", "--tokens", "42", "--heads", "5", "--cls", "2", "--layer", "3", "--attention", m.name, "--json"));
    delete expected.memory_bytes;
    assert.deepEqual(await page.evaluate(() => results[0].answer.pattern), expected, m.name);
    assert.equal((await page.$$("#mask-sides canvas")).length, 5);
  }
  const known = JSON.parse(fib("attentions", "--json")).map((m) => m.name);
  assert.deepEqual(mechanisms.map((m) => m.name), known);
  await page.close();
}

async function theLinesMakeTheSame(browser) {
  const page = await openPage(browser, "#a=bigbird:w=2,random=30&grid=9x8&heads=4&layer=1");
  const line = await text(page, "pre[data-what=command]");
  const printed = JSON.parse(fib(...line.split(" ").slice(1).map((word) => word.replaceAll("'", ""))));
  delete printed.memory_bytes;
  assert.deepEqual(await page.evaluate(() => results[0].answer.pattern), printed);
  assert.equal(await text(page, "pre[data-what='line of Python']"),
    'fibottention.support("bigbird:w=2,random=30", tokens=72, heads=4, cls=1, layer=1)');
  const svg = path.join(work, "pattern.svg");
  fib("pattern", "--tokens", "72", "--heads", "4", "--layer", "1", "--attention", "bigbird:w=2,random=30", "--svg", svg, "--quiet");
  assert.equal(await page.evaluate(() => patterns.svg(0)), fs.readFileSync(svg, "utf8"));
  const session = await page.createCDPSession();
  await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: work });
  for (const kind of ["svg", "json"]) {
    await page.click(`button[data-save=${kind}]`);
    const file = path.join(work, "bigbird-72." + kind);
    for (let wait = 0; !fs.existsSync(file) && wait < 100; ++wait) await new Promise((r) => setTimeout(r, 50));
    assert.ok(fs.readFileSync(file, "utf8").length > 100, kind);
  }
  await page.click(".line button");
  await page.close();
}

async function optionsAreChosenAndRefused(browser) {
  const page = await openPage(browser, "");
  const ratio = () => page.evaluate(() => results[0].answer.pattern.pruning_ratio);
  const before = await ratio();
  await set(page, "option-0-wmax", "20");
  assert.ok(await ratio() > before);
  await set(page, "option-0-wmax", "many");
  assert.match(await text(page, "#errors"), /wmax must be an integer .* got 'many'/);
  assert.equal(await page.$eval("#masks", (e) => e.hidden), true);
  await set(page, "option-0-wmax", "");
  assert.equal(await ratio(), before);
  await set(page, "layer", "0");
  const permuted = await page.evaluate(() => results[0].answer.pattern.heads.map((h) => h.window));
  assert.notDeepEqual(permuted, [...permuted].sort((a, b) => a - b));
  await set(page, "option-0-permute", "none");
  const inOrder = await page.evaluate(() => results[0].answer.pattern.heads.map((h) => h.window));
  assert.deepEqual(inOrder, [...inOrder].sort((a, b) => a - b));
  await set(page, "layer", "");
  for (const [id, value] of [["height", 8], ["width", 10], ["heads", 6], ["cls", 0]]) await set(page, id, value);
  const pattern = await page.evaluate(() => results[0].answer.pattern);
  assert.deepEqual([pattern.tokens, pattern.heads.length, pattern.cls], [80, 6, 0]);
  assert.equal(await page.$eval("#class-token", (b) => b.disabled), true);
  assert.match(await page.evaluate(() => location.hash), /a=fibottention:permute=none&.*grid=8x10&heads=6&cls=0/);
  await page.close();
}

async function aPatchIsChosenByMouseAndKeys(browser) {
  const page = await openPage(browser, "#a=local:w=1&b=full");
  const box = await (await page.$("#look-sides canvas")).boundingBox();
  const at = (row, column) => [box.x + (column + 0.5) * box.width / 14, box.y + (row + 0.5) * box.height / 14];
  await after(page, () => page.mouse.click(...at(2, 3)));
  assert.match(await text(page, "#said"), /^Row 3, column 4\. local:w=1: all heads together look at 2 of 196/);
  assert.match(await text(page, "#said"), /full: all heads together look at 196 of 196/);
  assert.equal(await page.evaluate(() => JSON.stringify(results[0].keys[11])), "[0,31,33]");
  await page.focus("#look-sides canvas");
  for (const key of ["ArrowRight", "ArrowDown", "Home", "PageUp"]) await after(page, () => page.keyboard.press(key));
  assert.match(await text(page, "#said"), /^Row 1, column 1\. local:w=1: all heads together look at 1 of 196/);
  for (const key of ["End", "PageDown", "ArrowLeft", "ArrowUp"]) await after(page, () => page.keyboard.press(key));
  assert.match(await text(page, "#said"), /^Row 13, column 13\./);
  await after(page, () => page.keyboard.press("c"));
  assert.match(await text(page, "#said"), /^The class token\. local:w=1: all heads together look at 196/);
  await after(page, () => page.keyboard.press("ArrowDown"));
  await after(page, () => page.click("#class-token"));
  assert.match(await text(page, "#keys-sides"), /all tokens/);
  await set(page, "sample", "1");
  await page.close();
}

async function anOwnImageIsShown(browser) {
  const page = await openPage(browser, "");
  const middle = () => page.evaluate(() => {
    const canvas = document.querySelector("#look-sides canvas");
    const query = state.query - state.cls, side = canvas.width / 14;
    return [...canvas.getContext("2d").getImageData((query % 14 + 2.5) * side, (Math.floor(query / 14) + 0.5) * side, 1, 1).data];
  });
  const file = path.join(work, "green.svg");
  fs.writeFileSync(file, '<svg xmlns="http://www.w3.org/2000/svg" width="50" height="20"><rect width="50" height="20" fill="#00ff00"/></svg>');
  const input = await page.$("#file");
  await after(page, () => input.uploadFile(file));
  assert.deepEqual(await middle(), [0, 255, 0, 255]);
  await page.close();
}

async function everythingFitsAPhone(browser) {
  for (const dark of [false, true]) {
    const page = await openPage(browser, "#a=fibottention&b=bigbird", { width: 390, dark });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the screen");
    await page.waitForSelector("body[data-curves=done]");
    assert.equal((await page.$$("#cost-plot path")).length, 3);
    await page.close();
  }
}

// What a screen reader needs: every control and every image has a name, every id is one element.
async function everythingHasAName(browser) {
  const page = await openPage(browser, "#a=fibottention&b=random");
  const tree = await page.accessibility.snapshot();
  const walk = (node) => [node, ...(node.children ?? []).flatMap(walk)];
  const nameless = walk(tree).filter((n) => ["button", "combobox", "textbox", "spinbutton", "image", "application", "region"].includes(n.role) && !n.name);
  assert.deepEqual(nameless, []);
  const twice = await page.evaluate(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i); });
  assert.deepEqual(twice, []);
  await page.close();
}

async function aLinkShowsWhatItSays(browser) {
  const page = await openPage(browser, "#a=local:w=3&grid=5x4&heads=2&cls=0&query=7");
  assert.match(await text(page, "#said"), /^Row 2, column 4\. local:w=3: all heads together look at 6 of 20 patches\.$/);
  await Promise.all([page.waitForNavigation(), page.evaluate(() => { location.hash = "#a=dilation:c=4,w=9&grid=5x4&heads=2&cls=0"; })]);
  await page.waitForSelector("body[data-ready=yes]");
  assert.equal(await page.evaluate(() => JSON.stringify(results[0].answer.pattern.heads[1].offsets)), "[4,8]");
  await page.close();
}

async function takeShots(browser) {
  for (const width of [1280, 390]) {
    for (const dark of [false, true]) {
      for (const [name, hash] of [["one", ""], ["two", "#a=fibottention&b=bigbird&layer=0"]]) {
        const page = await openPage(browser, hash, { width, dark });
        await page.waitForSelector("body[data-curves=done]");
        await page.screenshot({ path: path.join(process.env.SHOTS, `${name}-${width}-${dark ? "dark" : "light"}.png`), fullPage: true });
        await page.close();
      }
    }
  }
}

async function main() {
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ["--no-sandbox"] });
  const tests = [everyMechanismAgreesWithTheProgram, theLinesMakeTheSame, optionsAreChosenAndRefused, aPatchIsChosenByMouseAndKeys,
    anOwnImageIsShown, aLinkShowsWhatItSays, everythingFitsAPhone, everythingHasAName];
  try {
    if (process.env.SHOTS) await takeShots(browser);
    for (const test of tests) {
      await test(browser);
      console.log("passed: " + test.name);
    }
    assert.deepEqual(complaints, [], "the console stays empty");
  } finally {
    await browser.close();
    fs.rmSync(work, { recursive: true });
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
