'use strict';
// The page of the live encoder as a reader has it, with a small model.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const {readNpy} = require('./arrays.js');
const harness = require('./harness.js');

const FILE = path.join(process.env.TESSERA_WASM || path.join(__dirname, '../../build/wasm/examples'), 'live_encoder.html');
const GOLDEN = path.join(__dirname, '../golden/folders');
const SENTENCE = path.join(GOLDEN, 'sentence');
const TEXT = 'the cat sat on the mat';
const OTHER = 'the cat runs on the mat';
const LINES = ['a cat runs', 'Many people live in Paris.', 'the river', TEXT];

const settled = (page, wanted) => page.waitForFunction(wanted);
const shows = (page, id, part) =>
  page.waitForFunction(([name, text]) => document.getElementById(name).textContent.includes(text), [id, part]);

async function openModel(page, folder = SENTENCE) {
  await page.setInputFiles('#folder', folder);
  await page.waitForSelector('#work', {state: 'visible'});
}

/** Types a text and waits for its numbers. */
async function type(page, text) {
  await page.fill('#text', text);
  await page.waitForFunction((wanted) => seen && seen.text === wanted, text);
}

async function setUp(tools, options) {
  const page = await tools.open(FILE, options);
  await openModel(page);
  await page.fill('#lines', LINES.join('\n'));
  await page.fill('#other', OTHER);
  await type(page, TEXT);
  await shows(page, 'lines-note', `${LINES.length} lines are encoded`);
  await page.waitForFunction((count) => document.querySelectorAll('#ranking tbody tr').length === count, LINES.length);
  return page;
}

const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

/** The ranking is that of the vectors of `embed`. */
async function checkRanking(page, {folder, run}) {
  const [file, output] = [path.join(folder, 'lines.txt'), path.join(folder, 'lines.npy')];
  fs.writeFileSync(file, [TEXT, ...LINES].map((line) => `${line}\n`).join(''));
  run('embed', ['--model', SENTENCE, '--output', output, file]);
  const {shape: [, width], values} = readNpy(output);
  const vector = (i) => values.slice(i * width, (i + 1) * width);
  const wanted = LINES.map((line, i) => [cosine(vector(0), vector(i + 1)), line]).sort(([a], [b]) => b - a);
  const rows = await page.$$eval('#ranking tbody tr', (all) => all.map((row) => [row.cells[0].textContent, row.cells[2].textContent]));
  assert.deepStrictEqual(rows, wanted.map(([similarity, line]) => [similarity.toFixed(3), line]));
}

async function checkAttention(page) {
  const names = await page.$$eval('#attention tbody th', (all) => all.map((each) => each.textContent));
  assert.deepStrictEqual(names, ['[CLS]', ...TEXT.split(' '), '[SEP]']);
  assert.deepStrictEqual(await page.$$eval('#attention thead th', (all) => all.map((each) => each.textContent)), names);
  await page.click('#heads tbody tr:nth-child(2) td:nth-of-type(3)');
  assert.strictEqual(await page.textContent('#attention-heading'), 'Attention of layer 1, head 2');
  await page.hover('#attention tbody tr:nth-child(4) td:nth-of-type(3)');
  const wanted = await page.evaluate(() => 100 * seen.weights[((1 * 3 + 2) * 8 + 3) * 8 + 2]);
  assert.strictEqual(await page.textContent('#attention-readout'),
    `\u201csat\u201d gives \u201ccat\u201d ${wanted.toFixed(1)} % of its attention.`);
}

/** A head that is off moves the vector as far as the page said, and its attention and the ranking follow. */
async function checkHeads(page) {
  await page.focus('#heads');
  for (const key of ['Home', 'ArrowUp', 'ArrowDown', 'ArrowRight', 'End']) await page.keyboard.press(key);
  await shows(page, 'move', 'Layer 1, head 2 is on.');
  const said = Number((await page.textContent('#move')).match(/cos = (\S+)\.$/)[1]);
  const before = await page.evaluate(() => [...seen.vector]);
  const ranking = await page.textContent('#ranking');
  await page.keyboard.press(' ');
  await shows(page, 'move', 'Layer 1, head 2 is off.');
  assert.ok(await page.$('#heads tbody td.off'));
  const after = await page.evaluate(() => [...seen.vector]);
  const moved = 1 - cosine(before, after);
  assert.ok(moved > 1e-6 && Math.abs(said - moved) < 1e-6 + 6e-3 * moved, `${said}, not ${moved}`);
  await page.waitForFunction((old) => document.getElementById('ranking').textContent !== old, ranking);
  await page.click('#toggle');
  await shows(page, 'move', 'Layer 1, head 2 is on.');
  assert.deepStrictEqual(await page.evaluate(() => [...seen.vector]), before);
  await page.click('#measure');
  await settled(page, () => moves.length === 6 && moves.every((move) => move >= 0));
}

async function checkPatching(page) {
  await page.fill('#other', 'x');
  await shows(page, 'other-note', 'The second text must have 8 tokens as your text, it has 3.');
  assert.ok(await page.isDisabled('#patch'));
  await page.fill('#other', OTHER);
  await shows(page, 'other-note', 'Both texts have 8 tokens.');
  await page.click('#patch');
  await page.waitForSelector('#patched', {state: 'visible'});
  const cells = await page.$$eval('#patch-map tbody td', (all) => all.map((each) => each.textContent));
  assert.strictEqual(cells.length, 2 * 8);
  const scores = await page.evaluate(() => [...patched]);
  scores.forEach((score, i) => assert.strictEqual(cells[i], score.toFixed(3)));
  // A token that is the same in both texts changes less than the one that differs.
  assert.ok(scores[3] > Math.max(scores[2], scores[4]), `${scores}`);
  await page.fill('#text', `${TEXT} `);
  await page.waitForSelector('#patched', {state: 'hidden'});
  await type(page, TEXT);
}

async function checkErrors(page, {folder}) {
  const empty = path.join(folder, 'empty');
  fs.mkdirSync(empty);
  fs.writeFileSync(path.join(empty, 'notes.txt'), 'nothing');
  const broken = path.join(folder, 'broken');
  fs.cpSync(SENTENCE, broken, {recursive: true});
  fs.truncateSync(path.join(broken, 'model.safetensors'), 100);
  for (const [wrong, part] of [[empty, 'This folder has no config.json.'], [broken, 'model.safetensors'],
    [path.join(GOLDEN, 'static'), 'must have attention, got static embeddings'], [path.join(GOLDEN, 'reranker'), 'is a BertForSequenceClassification']]) {
    await page.setInputFiles('#folder', wrong);
    await shows(page, 'error', part);
    assert.ok(await page.isHidden('#work'));
    assert.strictEqual(await page.textContent('#status'), 'The folder was not opened.');
  }
  await openModel(page);
  assert.ok(await page.isHidden('#error'));
  await type(page, 'river '.repeat(100));
  await shows(page, 'stats', 'The model reads at most 14 tokens: the rest of the text is left out.');
}

/** Fast typing: only the last text is shown, and its numbers are its own. */
async function checkTyping(page) {
  await page.fill('#text', '');
  await page.type('#text', 'the cat sat on the mat and she sat', {delay: 1});
  await page.waitForFunction(() => seen.text === 'the cat sat on the mat and she sat');
  assert.match(await page.textContent('#stats'), /^11 tokens, encoded in [\d.]+ ms\. Memory: \d+ MB\./);
}

async function checkKeyboard(page) {
  await type(page, TEXT);
  await shows(page, 'other-note', 'Both texts have 8 tokens.');
  const reached = new Set();
  await page.focus('#folder');
  for (let i = 0; i < 14; ++i) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.id));
  }
  for (const id of ['text', 'heads', 'toggle', 'measure', 'attention', 'lines', 'other', 'patch']) assert.ok(reached.has(id), `${id} is not reached`);
  await page.focus('#patch');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#patched', {state: 'visible'});
  await page.focus('#patch-map');
  await page.keyboard.press('ArrowRight');
  await shows(page, 'patch-readout', 'With the vector of \u201cthe\u201d after layer 0 replaced');
}

harness.main(async (tools) => {
  for (const options of [{}, {dark: true}, {width: 390}, {width: 390, dark: true}]) {
    const page = await setUp(tools, options);
    await page.click('#patch');
    await page.waitForSelector('#patched', {state: 'visible'});
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.strictEqual(wide, 0, `${options.width || 1400}: the page is wider than the screen`);
    if (process.env.PICTURES) {
      await page.screenshot({path: path.join(process.env.PICTURES, `live-${options.width || 1400}-${options.dark ? 'dark' : 'light'}.png`), fullPage: true});
    }
    await page.context().close();
  }
  const page = await setUp(tools);
  const messages = [];
  page.on('console', (message) => messages.push(message.text()));
  await checkRanking(page, tools);
  await checkAttention(page);
  await checkHeads(page);
  await checkPatching(page);
  await checkTyping(page);
  await checkErrors(page, tools);
  await checkKeyboard(page);
  assert.deepStrictEqual(messages, []);
}, FILE);
