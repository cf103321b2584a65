'use strict';
// The page that computes: its numbers are the library's, whole and broken.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');
const {FILE, setUp, traceOf} = require('./live.js');

const ERROR = 1e-6;

/** A word, the parts that are switched off, and a weight that is changed: parameter, row, column, value. */
const CASES = [
  {word: 'transformers'}, {word: 'hippopotamus'}, {word: 'zzzzzzzzzzza'}, {word: 'backwards'}, {word: 'q'},
  ...['positions', 'head', 'residual1', 'feedForward', 'residual2'].map((part) => ({word: 'encyclopedia', off: [part]})),
  {word: 'transformers', off: ['positions', 'residual1', 'feedForward']},
  {word: 'transformers', off: ['residual1', 'residual2', 'head']},
  {word: 'transformers', weight: ['classifier.bias', 0, 18, -30]},
  {word: 'transformers', weight: ['encoder.layers.0.self_attn.in_proj_weight', 70, 3, 2.5]},
  {word: 'hippopotamus', off: ['residual1'], weight: ['encoder.layers.0.norm2.bias', 0, 63, -1.25]},
];

/** Every step of the same case by the library. */
function oracle({run, folder}, type, {word, off = [], weight = []}) {
  const checkpoint = path.join(folder, 'run', 'checkpoint.safetensors');
  return JSON.parse(run('../tests/live_oracle', [checkpoint, type, word, ...off, ...weight.map(String)]));
}

/** Throws unless the page's numbers are the library's; returns the largest difference. */
function compare(ours, theirs, allowed, name) {
  assert.deepStrictEqual(Object.keys(ours).sort(), Object.keys(theirs).sort());
  let worst = 0;
  for (const [step, values] of Object.entries(theirs)) {
    assert.strictEqual(ours[step].length, values.length, `${name}: ${step}`);
    const largest = Math.max(1, ...values.map(Math.abs));
    values.forEach((value, i) => {
      const difference = Math.abs(ours[step][i] - value);
      assert.ok(difference <= allowed(largest), `${name}: ${step}, element ${i}: ${ours[step][i]}, not ${value}`);
      worst = Math.max(worst, difference);
    });
  }
  return worst;
}

const exactly = () => ERROR;
const asFloat32 = (largest) => 4e-6 * largest;  // 64 rounding errors of float32, which add up over the steps

async function checkNumbers(page, tools) {
  let worst = 0;
  for (const each of CASES) {
    const name = JSON.stringify(each);
    await setUp(page, each);
    const ours = await traceOf(page);
    worst = Math.max(worst, compare(ours, oracle(tools, 'float64', each), exactly, name));
    compare(ours, oracle(tools, 'float32', each), asFloat32, name);
    await checkArithmetic(page, name);
  }
  console.log(`${CASES.length} cases: at most ${worst.toExponential(1)} from the library in float64`);
}

/** The arithmetic that the page shows gives the number that it explains. */
async function checkArithmetic(page, name) {
  const wrong = await page.evaluate(() => Object.entries(model.trace).flatMap(([step, m]) => {
    const found = [];
    for (let index = 0; index < m.values.length; index += 5) {
      const [row, column] = [Math.floor(index / m.columns), index % m.columns];
      const {value} = arithmetic(model, step, row, column);
      const isRight = Math.abs(value - m.values[index]) < 1e-9;
      if (!isRight) found.push(`${step}[${row}, ${column}]: ${value}, not ${m.values[index]}`);
    }
    return found;
  }));
  assert.deepStrictEqual(wrong, [], name);
}

/** A page with one other weight is found out. */
async function checkChangedPage(tools) {
  const html = fs.readFileSync(FILE, 'utf8');
  const start = html.indexOf('"float32":"') + '"float32":"'.length;
  const file = path.join(tools.folder, 'changed.html');
  fs.writeFileSync(file, html.slice(0, start + 2) + (html[start + 2] === 'A' ? 'B' : 'A') + html.slice(start + 3));
  const page = await tools.open(file);
  const ours = await traceOf(page);
  assert.throws(() => compare(ours, oracle(tools, 'float64', CASES[0]), exactly, 'changed'), /not /);
}

harness.main(async (tools) => {
  tools.run('train_reverse', ['--save', path.join(tools.folder, 'run')]);
  await checkNumbers(await tools.open(FILE), tools);
  await checkChangedPage(tools);
});
