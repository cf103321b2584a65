'use strict';
// The attention viewer as a reader has it: what it shows are the weights in the .npy.

const assert = require('node:assert');
const fs = require('node:fs');
const harness = require('./harness.js');
const {chooseMap, chooseToken, compareTable, heading, makePage} = require('./viewer_page.js');

const ROUNDED = 2 ** -18;  // the largest relative error of a page that rounds

/** Clicks through layers, heads and tokens and compares what is shown. */
async function compareMaps(page, made, text, maps, tokens, error) {
  for (const [layer, head] of maps) {
    await chooseMap(page, layer, head);
    assert.strictEqual(await heading(page), `Layer ${layer}, head ${head}`);
    for (const token of tokens) {
      await chooseToken(page, token);
      const row = (place) => made.weight(text, layer, head, token, place);
      const column = (place) => made.weight(text, layer, head, place, token);
      await compareTable(page, 'looks', made.tokens, row, error);
      await compareTable(page, 'seen', made.tokens, column, error);
    }
  }
}

const allMaps = (made) => [...Array(made.layers).keys()].flatMap(
    (layer) => [...Array(made.heads).keys()].map((head) => [layer, head]));

async function compareMeans(page, made) {
  const mean = (parts, row, column) =>
      parts.reduce((sum, [layer, head]) => sum + made.weight(0, layer, head, row, column), 0) / parts.length;
  const means = [[1, -1], [-1, 2], [-1, -1]];
  for (const [layer, head] of means) {
    const parts = allMaps(made).filter(([l, h]) => (layer < 0 || l === layer) && (head < 0 || h === head));
    await chooseMap(page, layer, head);
    await chooseToken(page, 3);
    await compareTable(page, 'looks', made.tokens, (place) => mean(parts, 3, place), 1e-6);
  }
}

/** Weights times norms, and the rollout, are their formulas. */
async function checkShows(page, made) {
  const places = [...Array(made.tokens).keys()];
  const norms = await page.evaluate(() => data.texts[0].norms);
  await page.selectOption('#show', 'norms');
  await chooseMap(page, 1, 2);
  assert.strictEqual(await heading(page), 'Layer 1, head 2, times norms');
  await chooseToken(page, 3);
  const product = (place) => made.weight(0, 1, 2, 3, place) * norms[1][2][place];
  const sum = places.reduce((total, place) => total + product(place), 0);
  await compareTable(page, 'looks', made.tokens, (place) => product(place) / sum, 1e-6);

  await page.selectOption('#show', 'rollout');
  assert.strictEqual(await heading(page), 'Rollout to layer 1');
  const passed = (layer, i, j) => [0, 1, 2].reduce((total, head) => total + made.weight(0, layer, head, i, j), 0) / 6 +
      (i === j ? 0.5 : 0);
  const flow = (j) => places.reduce((total, k) => total + passed(1, 3, k) * passed(0, k, j), 0);
  await compareTable(page, 'looks', made.tokens, flow, 1e-6);
  await page.selectOption('#show', 'weights');
}

/** A token that is typed is gone to; a map that is pointed at is shown until the pointer leaves. */
async function checkFinding(page) {
  await chooseMap(page, 0, 0);
  await page.fill('#find', '5');
  assert.match(await page.textContent('.looks caption'), /token 5,/);
  await page.fill('#find', 'nothing like it');
  assert.strictEqual(await page.getAttribute('#find', 'aria-invalid'), 'true');
  await page.fill('#find', '');
  await page.hover('#grid [data-layer="1"][data-head="2"]');
  assert.strictEqual(await heading(page), 'Layer 1, head 2');
  assert.strictEqual(await page.getAttribute('#grid [data-layer="0"][data-head="0"]', 'aria-selected'), 'true');
  await page.hover('h1');
  assert.strictEqual(await heading(page), 'Layer 0, head 0');
}

async function checkKeys(page) {
  await chooseMap(page, 0, 0);
  await page.focus('#grid [aria-selected="true"]');
  for (const [key, wanted] of [['ArrowRight', 'Layer 0, head 1'], ['ArrowDown', 'Layer 1, head 1'],
    ['ArrowLeft', 'Layer 1, head 0'], ['ArrowUp', 'Layer 0, head 0'], ['End', 'Layer 0, mean of heads'],
    ['Home', 'Layer 0, head 0'], ['h', 'Layer 0, head 1'], ['l', 'Layer 1, head 1'], ['H', 'Layer 1, head 0']]) {
    await page.keyboard.press(key);
    assert.strictEqual(await heading(page), wanted, key);
  }
  assert.ok(await page.evaluate(() => document.activeElement.getAttribute('role') === 'gridcell'));
  await chooseToken(page, 0);
  for (const [key, place] of [['ArrowRight', 1], ['End', 6], ['ArrowLeft', 5], ['Home', 0]]) {
    await page.keyboard.press(key);
    assert.match(await page.textContent('.looks caption'), new RegExp(`token ${place},`), key);
    assert.match(await page.textContent('#live'), new RegExp(`^layer 1, head 0: ${place} attends to`), key);
  }
  await page.keyboard.press('t');
  assert.strictEqual(await page.inputValue('#text'), '1');
}

/** The pointer on the map shows the weight beneath it, and lines lead from its row's token. */
async function checkPointer(page, made) {
  await page.selectOption('#text', '0');
  await chooseMap(page, 1, 1);
  const box = await (await page.$('.map-canvas')).boundingBox();
  const at = (place, start, side) => start + (place + 0.5) * side / made.tokens;
  await page.mouse.move(at(4, box.x, box.width), at(2, box.y, box.height));
  const shown = Number((await page.textContent('.readout')).split(': ')[1]);
  const weight = made.weight(0, 1, 1, 2, 4);
  assert.ok(Math.abs(shown - weight) <= 6e-4 * weight, `${shown} for ${weight}`);
  const seen = [...Array(made.tokens).keys()].filter((j) => j !== 2 && made.weight(0, 1, 1, 2, j) >= 0.01);
  assert.strictEqual(await page.$$eval('.lines path', (paths) => paths.length), seen.length);
}

/** A page in which one number was changed is found out. */
async function checkChangedPage({open}, made) {
  const html = fs.readFileSync(made.page, 'utf8');
  const start = html.indexOf('"weights":[["') + '"weights":[["'.length;
  const digit = html[start + 4] === 'A' ? 'B' : 'A';
  const file = made.page.replace('.html', '-changed.html');
  fs.writeFileSync(file, html.slice(0, start + 4) + digit + html.slice(start + 5));
  const page = await open(file);
  await assert.rejects(compareMaps(page, made, 0, [[0, 0]], [0], 0), /not 0\./);
}

/** Elements whose words overlap those of the one before. */
function collisions(page, selector) {
  return page.$$eval(selector, (elements) => {
    const boxes = elements.filter((element) => element.textContent !== '').map((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return {text: element.textContent, box: range.getBoundingClientRect()};
    });
    const overlap = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
    return boxes.filter(({box}, i) => i > 0 && overlap(box, boxes[i - 1].box)).map(({text}) => text);
  });
}

async function checkScreens({open}, made) {
  for (const dark of [false, true]) {
    const page = await open(made.page, {width: 390, height: 800, dark});
    const width = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(width <= 390, `${width} pixels wide on a screen of 390`);
    assert.deepStrictEqual(await collisions(page, '#grid [role="columnheader"]'), []);
  }
}

/** Paper is light, and has the whole tables and nothing to choose by. */
async function checkPaper({open}, made) {
  const page = await open(made.page, {dark: true});
  await page.emulateMedia({media: 'print', colorScheme: 'dark'});
  await page.waitForFunction(() => colors[0] === 255);
  assert.deepStrictEqual(await page.evaluate(() => [...colors.slice(0, 3)]), [255, 255, 255], 'paper is light');
  assert.strictEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  for (const hidden of ['#controls', '#measure', '.lines', '#keys-heading']) assert.strictEqual(await page.isVisible(hidden), false, hidden);
  const rows = await page.$$eval('.tables tbody tr', (all) => all.filter((row) => row.checkVisibility()).length);
  assert.strictEqual(rows, 2 * made.tokens);
  const cut = await page.$$eval('.tables .scroll', (all) => all.filter((each) => each.scrollHeight > each.clientHeight + 1).length);
  assert.strictEqual(cut, 0, 'tables are whole');
  await page.emulateMedia({media: 'screen', colorScheme: 'dark'});
  await page.waitForFunction(() => colors[0] !== 255);
}

/** 12 layers of 12 heads over 128 tokens: a small file, and quick. */
async function checkLargePage(tools) {
  const made = makePage(tools, {layers: 12, heads: 12, width: 24, texts: 1, tokens: 128});
  const size = fs.statSync(made.page).size;
  assert.ok(size < 10e6, `${size} bytes`);
  const page = await tools.open(made.page);
  assert.match(await page.textContent('#precision'), /18 significant bits/);
  await compareMaps(page, made, 0, [[0, 0], [11, 7]], [100], ROUNDED);
  const times = await page.evaluate(async () => {
    const taken = [];
    for (let head = 0; head < 12; ++head) {
      const start = performance.now();
      choose({head, layer: 5});
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      taken.push(performance.now() - start);
    }
    return taken.sort((a, b) => a - b);
  });
  console.log(`12 x 12 x 128: ${size} bytes, a head in ${times[6].toFixed(0)} ms, at most ${times[11].toFixed(0)} ms`);
  assert.ok(times[6] < 250, `a head takes ${times[6]} ms`);
}

harness.main(async (tools) => {
  const made = makePage(tools, {layers: 2, heads: 3, width: 12, texts: 2, tokens: 7});
  const page = await tools.open(made.page);
  await compareMaps(page, made, 0, allMaps(made), [0, 6], 0);
  await page.selectOption('#text', '1');
  await compareMaps(page, made, 1, [[1, 2]], [5], 0);
  await page.selectOption('#text', '0');
  await compareMeans(page, made);
  await checkShows(page, made);
  await checkFinding(page);
  await checkKeys(page);
  await checkPointer(page, made);
  await checkChangedPage(tools, made);
  await checkScreens(tools, made);
  await checkPaper(tools, made);
  await checkLargePage(tools);
});
