'use strict';
// What the tests of the attention viewer share: a page, clicks on it, and its tables.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const {randomNumbers, readNpy, writeEncoder, writeNpy} = require('./arrays.js');

const SENTENCE = path.join(__dirname, '..', 'golden', 'folders', 'sentence');
const LINES = ['the cat sat', 'where is the cat', 'the cat sat on the mat', 'the cat sat on the mat where the cat sat'];

/** Writes the weights' .npy by run_encoder, and page.html from them. */
function makePage({folder, run}, {layers, heads, width, texts, tokens}) {
  const file = (name) => path.join(folder, `${layers}-${tokens}-${name}`);
  writeEncoder(file('encoder.safetensors'), {layers, width});
  writeNpy(file('x.npy'), [texts, tokens, width], randomNumbers(texts * tokens * width, 7));
  run('run_encoder', ['--weights', file('encoder.safetensors'), '--heads', String(heads),
    '--input', file('x.npy'), '--output', file('y.npy'),
    '--attention-output', file('weights.npy')]);
  run('../tests/viewer_oracle', [file('weights.npy'), file('page.html')]);
  const {shape, values} = readNpy(file('weights.npy'));
  assert.deepStrictEqual(shape, [layers, texts, heads, tokens, tokens]);
  const weight = (text, layer, head, row, column) =>
      values[(((layer * texts + text) * heads + head) * tokens + row) * tokens + column];
  return {page: file('page.html'), weight, layers, heads, tokens};
}

/** A page of lines by embed. */
function linesPage({folder, run}, name, lines) {
  const file = path.join(folder, `${name}.html`);
  fs.writeFileSync(path.join(folder, `${name}.txt`), lines.join('\n') + '\n');
  run('embed', ['--model', SENTENCE, '--attention', file, '--attention-ablation', path.join(folder, `${name}.txt`)]);
  return file;
}

const heading = (page) => page.textContent('#one-heading');
const chooseToken = (page, token) => page.click(`.tokens [data-token="${token}"]`);
const chooseMap = (page, layer, head) => page.click(`#grid [data-layer="${layer}"][data-head="${head}"]`);
const caption = (page, panel = 1) => page.textContent(`.panel:nth-child(${panel}) .looks caption`);
const found = (page) => page.$$eval('#found li', (all) => all.map((each) => each.textContent));

/** The rows of a table: token's place and the number as text and as a whole. */
function rowsOf(page, table, panel = 1) {
  return page.$$eval(`.panel:nth-child(${panel}) .${table} tbody tr`, (rows) => rows.map((row) => {
    const number = row.children[2];
    return {place: Number(row.children[1].textContent), text: number.textContent, whole: Number(number.dataset.weight)};
  }));
}

/** Throws unless each number of a table is what `wanted(place)` says. */
async function compareTable(page, table, count, wanted, error, panel = 1) {
  const rows = await rowsOf(page, table, panel);
  assert.strictEqual(rows.length, count);
  for (const {place, text, whole} of rows) {
    const weight = wanted(place);
    assert.ok(Math.abs(whole - weight) <= error * weight, `${table} ${place}: ${whole}, not ${weight}`);
    assert.ok(Math.abs(Number(text) - weight) <= (error + 5.01e-4) * weight, `${table} ${place}: ${text} for ${weight}`);
  }
  const order = rows.map(({whole}) => whole);
  assert.deepStrictEqual(order, [...order].sort((a, b) => b - a), 'the largest comes first');
}

module.exports = {LINES, caption, chooseMap, chooseToken, compareTable, found, heading, linesPage, makePage, rowsOf};
