'use strict';
// What can be chosen in the attention viewer: a second text, heads by what they do, a link to all of it.

const assert = require('node:assert');
const harness = require('./harness.js');
const {LINES, caption, chooseMap, chooseToken, compareTable, found, heading, linesPage, makePage, rowsOf} = require('./viewer_page.js');

const facts = (page, panel = 1) => page.textContent(`.panel:nth-child(${panel}) .facts`);
const boxes = (page, selector) => page.$$eval(selector, (all) => all.filter((each) => each.checkVisibility()).map(
    (each) => each.getBoundingClientRect()));

/** The page opens on the head with the largest effect, and says so at each head. */
async function checkAblation(page) {
  const effects = await page.evaluate(() => data.texts.map((text) => text.ablation));
  const all = effects[0].flatMap((row, layer) => row.map((effect, head) => ({layer, head, effect})));
  const order = [...all].sort((a, b) => b.effect - a.effect);
  assert.ok(order[0].effect > order[1].effect, 'heads differ');
  assert.strictEqual(await heading(page), `Layer ${order[0].layer}, head ${order[0].head}`);
  const last = order[order.length - 1];
  await chooseMap(page, last.layer, last.head);
  const said = await facts(page);
  assert.ok(said.includes('1 - cosine of the text\'s vector with and without the head'), said);
  assert.ok(said.includes(`rank ${order.length} of ${order.length}`), said);
  assert.ok(Math.abs(Number(said.match(/result by ([^ ]*)/)[1]) - last.effect) <= 1e-3 * Math.abs(last.effect), said);
  for (const {layer, head, effect} of all) {
    const cell = await page.$(`#grid [data-layer="${layer}"][data-head="${head}"]`);
    const text = (await (await cell.$('.score')).textContent()).replace('≈0', '0');
    assert.ok(Math.abs(Number(text) - effect) <= 6e-4);
    assert.ok((await cell.getAttribute('aria-label')).startsWith(`layer ${layer}, head ${head}: `));
  }
  assert.deepStrictEqual((await found(page)).map((each) => each.match(/layer (\d+), head (\d+)/).slice(1).map(Number)),
      order.slice(0, 6).map(({layer, head}) => [layer, head]));
}

/** A second text has the numbers of its own page, and follows the word that is chosen. */
async function checkComparing(tools, file) {
  const page = await tools.open(file);
  const tokens = await page.evaluate(() => data.texts.map((text) => text.tokens));
  await chooseToken(page, tokens[0].indexOf('cat'));
  for (const other of [1, 2, 3]) {
    await page.selectOption('#other', String(other));
    assert.match(await caption(page, 2), /^“cat”, /);
  }
  await page.selectOption('#other', '1');
  assert.strictEqual(await caption(page, 2), `“cat”, token ${tokens[1].indexOf('cat')}, attends to`);
  await chooseMap(page, 1, 0);
  assert.strictEqual((await boxes(page, '.panel')).length, 2);
  for (const place of [tokens[0].indexOf('cat'), tokens[0].indexOf('the')]) {
    await chooseToken(page, place);
    const word = tokens[0][place];
    assert.strictEqual(await caption(page, 2), `“${word}”, token ${tokens[1].indexOf(word)}, attends to`);
  }
  const own = await tools.open(linesPage(tools, 'second', [LINES[1]]));
  await chooseMap(own, 1, 0);
  await chooseToken(own, tokens[1].indexOf('the'));
  const wanted = new Map((await rowsOf(own, 'looks')).map(({place, whole}) => [place, whole]));
  await compareTable(page, 'looks', tokens[1].length, (place) => wanted.get(place), 0, 2);
  assert.notDeepStrictEqual((await rowsOf(page, 'looks', 1)).length, wanted.size, 'the first text is another');
  // The same parts are at the same height, or below each other on a narrow screen.
  for (const part of ['.tokens', '.map-canvas', '.tables']) {
    const [first, second] = await boxes(page, part);
    assert.ok(first.right < second.left, part);
    assert.ok(Math.abs(part === '.map-canvas' ? first.bottom - second.bottom : first.top - second.top) < 60, part);
  }
  await page.setViewportSize({width: 390, height: 800});
  const [first, second] = await boxes(page, '.panel');
  assert.ok(first.bottom <= second.top);
  assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth) <= 390);
  await page.selectOption('#other', '-1');
  assert.strictEqual((await boxes(page, '.panel')).length, 1);
}

/** The address of a page shows the same in a new one; what a page does not have is left. */
async function checkLink(tools, file) {
  const page = await tools.open(file);
  await page.selectOption('#text', '1');
  await page.selectOption('#other', '2');
  await chooseMap(page, 0, 1);
  await page.selectOption('#show', 'norms');
  await page.selectOption('#shade', 'linear');
  await page.selectOption('#lines-of', 'all');
  await page.selectOption('#measure', 'pair');
  await page.selectOption('#key', '3');
  await chooseToken(page, 2);
  const shown = async (one) => ({
    heading: await heading(one), captions: [await caption(one, 1), await caption(one, 2)], found: await found(one),
    choices: await one.$$eval('select', (all) => all.map((each) => each.value)),
  });
  let copy;
  for (const place of [null, 6]) {  // also a word of the second text that the first does not have
    if (place !== null) await page.click(`.panel:nth-child(2) .tokens [data-token="${place}"]`);
    copy = await tools.open(file, {hash: new URL(page.url()).hash});
    assert.deepStrictEqual(await shown(copy), await shown(page));
  }
  assert.match(await caption(copy, 2), /^“mat”, token 6,/);
  assert.match(await caption(copy, 1), /token 2,/);
  const plain = await tools.open(file);
  for (const hash of ['#text=9&layer=x&head=-7&show=none&token=99&key=1e9&other=', '#one', '#token=-1']) {
    const odd = await tools.open(file, {hash});
    assert.deepStrictEqual(await shown(odd), await shown(plain), hash);
  }
  await copy.evaluate(() => { location.hash = '#layer=1&head=0&show=weights'; });
  await copy.waitForFunction(() => document.getElementById('one-heading').textContent === 'Layer 1, head 0');
}

/** Texts that begin alike have different names in the menu. */
async function checkNames(page) {
  const names = await page.$$eval('#text option', (all) => all.map((each) => each.textContent.slice(3, 24)));
  assert.strictEqual(new Set(names).size, LINES.length, names.join(' | '));
}

/** Heads by pattern and by pair, computed from the weights' .npy. */
async function checkFinding({open}, made) {
  const page = await open(made.page);
  const size = made.tokens;
  const rows = [...Array(size).keys()];
  const mean = (keys, layer, head) => {
    const used = rows.filter((i) => keys(i) >= 0 && keys(i) < size);
    return used.reduce((sum, i) => sum + made.weight(0, layer, head, i, keys(i)), 0) / used.length;
  };
  const link = (layer, head) => rows.reduce((sum, i) => sum + Math.max(
      ...rows.filter((j) => Math.abs(j - i) > 1).map((j) => made.weight(0, layer, head, i, j))), 0) / size;
  const measures = {
    itself: (...at) => mean((i) => i, ...at), previous: (...at) => mean((i) => i - 1, ...at),
    next: (...at) => mean((i) => i + 1, ...at), first: (...at) => mean(() => 0, ...at), link,
    pair: (...at) => made.weight(0, ...at, 5, 2),
  };
  const check = async (name) => {
    const all = [...Array(made.layers * made.heads).keys()].map((n) => [Math.floor(n / made.heads), n % made.heads]);
    const order = all.map((at) => ({at, score: measures[name](...at)})).sort((a, b) => b.score - a.score);
    const list = (await found(page)).map((text) => text.match(/layer (\d+), head (\d+) (.*)/).slice(1).map(Number));
    list.forEach(([layer, head, score], i) => {
      assert.deepStrictEqual([layer, head], order[i].at, name);
      assert.ok(Math.abs(score - order[i].score) < 6e-4 * order[i].score, name);
    });
    assert.strictEqual(list.length, 6);
  };
  for (const name of ['itself', 'previous', 'next', 'first', 'link']) {
    await page.selectOption('#measure', name);
    await check(name);
  }
  await page.selectOption('#measure', 'same');
  assert.match(await page.textContent('#measured'), /No token/);
  const box = await (await page.$('.map-canvas')).boundingBox();
  await page.mouse.click(box.x + 2.5 * box.width / size, box.y + 5.5 * box.height / size);
  assert.strictEqual(await page.inputValue('#measure'), 'pair');
  await check('pair');
  await page.click('#found button');
  const [layer, head] = (await found(page))[0].match(/layer (\d+), head (\d+)/).slice(1);
  assert.strictEqual(await heading(page), `Layer ${layer}, head ${head}`);
  // Without ablation the page opens on the head with the strongest links by weight times norm.
  const norms = await page.evaluate(() => data.texts[0].norms);
  const valued = (l, h) => rows.reduce((sum, i) => {
    const products = rows.map((j) => made.weight(0, l, h, i, j) * norms[l][h][j]);
    return sum + Math.max(...products.filter((_, j) => Math.abs(j - i) > 1)) / products.reduce((a, b) => a + b);
  }, 0);
  const opened = (await heading(await open(made.page))).match(/\d+/g).map(Number);
  for (let l = 0; l < made.layers; ++l) {
    for (let h = 0; h < made.heads; ++h) assert.ok(valued(l, h) <= valued(...opened) + 1e-9);
  }
}

/** Lines of all tokens: one for each weight that can be seen, those of the chosen token marked. */
async function checkAllLines({open}, made) {
  const page = await open(made.page);
  await chooseMap(page, 1, 1);
  await page.selectOption('#lines-of', 'all');
  await chooseToken(page, 4);
  const rows = [...Array(made.tokens).keys()];
  const count = (row) => rows.filter((j) => made.weight(0, 1, 1, row, j) >= 0.01).length;
  assert.strictEqual(await page.$$eval('.lines path', (all) => all.length), rows.reduce((sum, i) => sum + count(i), 0));
  assert.strictEqual(await page.$$eval('.lines .chosen', (all) => all.length), count(4));
  await page.click('.keys span:nth-child(3)');
  assert.strictEqual(await page.inputValue('#key'), '2');
}

/** A head that rests on [CLS] with little length is explained; one that reads there is not. */
async function checkSinks(page) {
  const note = (weight, length) => page.evaluate(([on, by]) => {
    const size = data.texts[0].tokens.length;
    known.set('0 0 0 weights', Float32Array.from({length: size * size}, (_, i) => i % size ? (1 - on) / (size - 1) : on));
    known.delete('0 0 0 norms');
    data.texts[0].norms[0][0] = Array.from({length: size}, (_, j) => j ? 1 : by);
    return sinkNote(0, 0, 0);
  }, [weight, length]);
  assert.strictEqual(await page.evaluate(() => data.texts[0].tokens.join(' ')), '[CLS] the cat sat [SEP]');
  assert.match(await note(0.8, 0), /^85 % of the weight is on \[CLS\] and \[SEP\], but 25 % of weight times norm/);
  assert.strictEqual(await note(0.8, 1), '');
  assert.strictEqual(await note(0.3, 0), '', 'less than half of the weight');
}

/** No word at a map is cut, on any screen. */
async function checkLabels(tools) {
  const file = linesPage(tools, 'long', ['the cat sat on the mat', `the ${'x'.repeat(30)} sat`]);
  for (const width of [390, 1400]) {
    const page = await tools.open(file, {width, hash: '#text=0'});
    await page.evaluate(() => { data.texts[1].tokens[2] = 'incomprehensibilities'; });
    await page.selectOption('#other', '1');
    const cut = await page.$$eval('.map-rows span, .map-columns span', (all) => all.filter((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      const [words, map] = [range.getBoundingClientRect(), each.closest('.map').getBoundingClientRect()];
      return getComputedStyle(each).overflow !== 'visible' || words.left < map.left - 1 || words.top < map.top - 1;
    }).map((each) => each.textContent));
    assert.deepStrictEqual(cut, []);
    assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth) <= width);
  }
}

harness.main(async (tools) => {
  const file = linesPage(tools, 'lines', LINES);
  const page = await tools.open(file);
  await checkAblation(page);
  await checkNames(page);
  await checkSinks(page);
  await checkComparing(tools, file);
  await checkLink(tools, file);
  await checkLabels(tools);
  const made = makePage(tools, {layers: 2, heads: 3, width: 12, texts: 2, tokens: 7});
  await checkFinding(tools, made);
  await checkAllLines(tools, made);
});
