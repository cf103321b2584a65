'use strict';
// The page that computes: its numbers are the library's, whole and broken, and a reader can use all of it.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');

const FILE = path.join(__dirname, '../../examples/course/live.html');
const ERROR = 1e-6;
const CLASSES = 'classifier.bias';
const PROJECTIONS = 'encoder.layers.0.self_attn.in_proj_weight';

/** A word, the parts that are switched off, and a weight that is changed: parameter, row, column, value. */
const CASES = [
  {word: 'transformers'}, {word: 'hippopotamus'}, {word: 'zzzzzzzzzzza'}, {word: 'backwards'}, {word: 'q'},
  ...['positions', 'head', 'residual1', 'feedForward', 'residual2'].map((part) => ({word: 'encyclopedia', off: [part]})),
  {word: 'transformers', off: ['positions', 'residual1', 'feedForward']},
  {word: 'transformers', off: ['residual1', 'residual2', 'head']},
  {word: 'transformers', weight: [CLASSES, 0, 18, -30]},
  {word: 'transformers', weight: [PROJECTIONS, 70, 3, 2.5]},
  {word: 'hippopotamus', off: ['residual1'], weight: ['encoder.layers.0.norm2.bias', 0, 63, -1.25]},
];

// ---- what a reader does and sees ----

const traceOf = (page) => page.evaluate(() =>
  Object.fromEntries(Object.entries(model.trace).map(([step, {values}]) => [step, [...values]])));
const outputs = (page) => page.$$eval('#outputs button', (buttons) => buttons.map((button) => button.firstChild.textContent).join(''));
const number = (text) => Number(text.replaceAll('−', '-'));
const focused = (page) => page.evaluate(() => document.activeElement.id);

async function setUp(page, {word, off = [], weight}) {
  if (await page.isEnabled('#reset')) await page.click('#reset');
  await page.fill('#word', word);
  for (const part of off) await page.check(`#off-${part}`);
  if (!weight) return;
  const [parameter, row, column, value] = weight.map(String);
  await page.selectOption('#parameter', parameter);
  for (const [id, text] of [['parameter-row', row], ['parameter-column', column]]) {
    await page.fill(`#${id}`, text);
    await page.dispatchEvent(`#${id}`, 'change');
  }
  await page.fill('#value', value);
}

// ---- the library ----

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
      if (!(Math.abs(value - m.values[index]) < 1e-9)) found.push(`${step}[${row}, ${column}]: ${value}, not ${m.values[index]}`);
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

// ---- what is seen of a change ----

async function checkBreaks(page) {
  await setUp(page, {word: 'transformers'});
  assert.strictEqual(await outputs(page), 'sremrofsnart');
  assert.match(await page.textContent('#result'), /12 of 12 letters are right\.$/);
  assert.strictEqual(await page.$$eval('.step .note b', (notes) => notes.map((note) => note.textContent).join('')), '');
  const pixels = () => page.$eval('#step-head canvas', (canvas) => canvas.toDataURL());
  const whole = await pixels();
  await page.check('#off-head');
  assert.notStrictEqual(await outputs(page), 'sremrofsnart');
  assert.ok((await page.$$('#outputs .wrong')).length > 6);
  assert.match(await page.textContent('#result'), /The whole model writes sremrofsnart\.$/);
  assert.notStrictEqual(await pixels(), whole);
  const note = (step) => page.textContent(`#steps [data-step="${step}"] .note`);
  assert.match(await note('head'), /768 of 768 changed, by at most/);
  assert.ok(!(await note('weights')).includes('changed'), 'attention weights come before the head\'s output');
  await page.click('#step-head', {position: {x: 100, y: 50}});
  assert.match(await page.textContent('#panel-line'), /switched off = 0$/);
  assert.match(await page.textContent('#panel-before'), /^In the whole model it is −?\d/);
  const numbers = await pixels();
  await page.selectOption('#colors', 'change');
  assert.notStrictEqual(await pixels(), numbers);
  await page.selectOption('#colors', 'numbers');
  await page.click('#reset');
  assert.strictEqual(await outputs(page), 'sremrofsnart');
  assert.strictEqual(await pixels(), whole);

  await setUp(page, {word: 'transformers', weight: [CLASSES, 0, 18, -30]});
  assert.strictEqual(await page.textContent('#changed-weights'), 'Changed: classifier.bias[0, 18].');
  assert.match(await page.textContent('#value-before'), /^Trained: 0\.08/);
  assert.match(await note('logits'), /12 of 312 changed/);
  assert.ok(!(await outputs(page)).includes('s'));
  await page.click('#repair');
  assert.strictEqual(await outputs(page), 'sremrofsnart');
}

/** "q[2] · k[5] / √64 = ... / 8 = ..." under the pointer, and back to what was chosen. */
async function checkPointer(page) {
  await setUp(page, {word: 'transformers'});
  const trace = await traceOf(page);
  await page.click('#step-weights', {position: {x: 5, y: 5}});
  const cell = await page.evaluate(() => document.querySelector('#step-scores canvas').clientWidth / 12);
  await page.hover('#step-scores', {position: {x: 5.5 * cell, y: 2.5 * cell}});
  const line = await page.textContent('#panel-line');
  const [, product, score] = line.match(/^q\[2\] · k\[5\] \/ √64 = (\S+) \/ 8 = (\S+)$/);
  const wanted = trace.scores[2 * 12 + 5];
  assert.ok(Math.abs(number(score) - wanted) <= 5.1e-4 * Math.abs(wanted), `${score}, not ${wanted}`);
  assert.ok(Math.abs(number(product) - 8 * wanted) <= 5.1e-4 * Math.abs(8 * wanted), `${product}, not ${8 * wanted}`);
  assert.strictEqual((await page.$$('#products tr')).length, 6);
  await page.hover('h1');
  assert.match(await page.textContent('#panel-name'), /^a\[0, 0\] = /);

  await page.click('#step-scores', {position: {x: 5.5 * cell, y: 2.5 * cell}});
  await page.click('#products > button');
  const shownProducts = await page.$$eval('#products td:nth-child(2)', (cells) => cells.map((td) => td.textContent));
  assert.strictEqual(shownProducts.length, 64);
  const sum = shownProducts.map(number).reduce((a, b) => a + b);
  assert.ok(Math.abs(sum - 8 * wanted) < 0.05, `products add up to ${sum}, not ${8 * wanted}`);
}

async function checkDrag(page) {
  await setUp(page, {word: 'transformers'});
  const middle = async (place) => {
    const box = await (await page.$(`#inputs button:nth-child(${place + 1})`)).boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  await page.mouse.move(...await middle(0));
  await page.mouse.down();
  await page.mouse.move(...await middle(5), {steps: 7});
  await page.mouse.up();
  assert.strictEqual(await page.inputValue('#word'), 'ransftormers');
  assert.strictEqual(await outputs(page), 'sremrotfsnar');
  await page.mouse.move(...await middle(9));
  assert.strictEqual(await page.inputValue('#word'), 'ransftormers', 'the letter was let go');
}

// ---- without a pointer ----

/** Presses Tab until `id` has the focus. */
async function tabTo(page, wanted, key = 'Tab') {
  for (let presses = 0; presses < 200; ++presses) {
    if (await page.evaluate((selector) => document.activeElement.matches(selector), wanted)) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${key} does not come to ${wanted}`);
}

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

async function checkKeys({open}) {
  const page = await open(FILE);
  await tabTo(page, '#word');
  await press(page, 'Control+a');
  await page.keyboard.type('Hippo potamus!');
  assert.strictEqual(await page.inputValue('#word'), 'hippopotamus');
  assert.strictEqual(await outputs(page), 'sumatopoppih');

  await tabTo(page, '#inputs button:first-child');
  await press(page, 'Shift+ArrowRight', 'Shift+ArrowRight');
  assert.strictEqual(await page.inputValue('#word'), 'iphpopotamus');
  await press(page, 'ArrowLeft', 'x');
  assert.strictEqual(await page.inputValue('#word'), 'ixhpopotamus');
  assert.strictEqual(await outputs(page), 'sumatopophxi');

  await tabTo(page, '#outputs button:first-child');
  await press(page, 'Enter');
  assert.match(await page.textContent('#panel-name'), /^P\[0, 18\] = /);
  await tabTo(page, '#off-head');
  await press(page, 'Space');
  assert.notStrictEqual(await outputs(page), 'sumatopophxi');
  await tabTo(page, '#reset');
  await press(page, 'Enter');
  assert.strictEqual(await outputs(page), 'sumatopophxi');

  // From a cell to its arithmetic, on to an operand, and to a weight.
  await tabTo(page, '#step-q');
  for (const [key, name] of [['ArrowRight', 'q[0, 1]'], ['ArrowDown', 'q[1, 1]'], ['ArrowLeft', 'q[1, 0]'],
    ['ArrowUp', 'q[0, 0]'], ['ArrowUp', 'q[0, 0]'], ['End', 'q[0, 63]'], ['ArrowRight', 'q[0, 63]'], ['Home', 'q[0, 0]']]) {
    await press(page, key);
    const heading = await page.textContent('#panel-name');
    assert.ok(heading.startsWith(`${name} = `), `${key}: ${heading}`);
    const cell = await page.evaluate(() => byId(document.activeElement.getAttribute('aria-activedescendant')).getAttribute('aria-label'));
    assert.ok(cell.startsWith('place ') && heading.endsWith(cell.split(': ')[1]), `${cell} for ${heading}`);
  }
  await press(page, 'Enter');
  assert.strictEqual(await focused(page), 'panel');
  await tabTo(page, '#products .operand');
  const operand = await page.evaluate(() => document.activeElement.firstChild.textContent);
  await press(page, 'Enter');
  assert.ok((await page.textContent('#panel-name')).startsWith(`${operand} = `), operand);
  await press(page, 'Escape');
  assert.strictEqual(await focused(page), 'step-norm1');

  await press(page, 'Enter');
  await tabTo(page, '#panel-line .weight');
  await press(page, 'Enter');
  assert.strictEqual(await focused(page), 'value');
  assert.strictEqual(await page.inputValue('#parameter'), 'encoder.layers.0.norm1.weight');
  await press(page, 'Control+a');
  await page.keyboard.type('-7.5');
  assert.match(await page.textContent('#changed-weights'), /^Changed: encoder\.layers\.0\.norm1\.weight\[0, \d+\]\.$/);
  assert.strictEqual(await page.evaluate(() => at(model.parameters['encoder.layers.0.norm1.weight'], 0, editor.place.column)), -7.5);
  await tabTo(page, '#repair');
  await press(page, 'Enter');
  assert.strictEqual(await page.textContent('#changed-weights'), 'No weight is changed.');
}

// ---- screens ----

async function checkScreens({open}) {
  const drawn = [];
  for (const width of [1400, 390]) {
    for (const dark of [false, true]) {
      const page = await open(FILE, {width, height: width === 390 ? 844 : 1000, dark});
      await page.emulateMedia({reducedMotion: 'reduce'});
      await page.check('#off-positions');
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
      assert.ok(wide <= width, `${wide} pixels wide on a screen of ${width}`);
      const outside = await page.$$eval('canvas, button, input, select, svg, figcaption', (elements) => elements
          .filter((element) => element.getClientRects().length > 0)
          .map((element) => element.getBoundingClientRect())
          .filter(({left, right, width: own}) => own === 0 || left < 0 || right > innerWidth).length);
      assert.strictEqual(outside, 0, `elements beyond a screen of ${width}`);
      assert.strictEqual(await page.evaluate(() => document.getAnimations().length), 0);
      const blank = await page.$$eval('.step canvas', (canvases) => canvases.filter((canvas) => {
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size < 2;
      }).map((canvas) => canvas.closest('figure').dataset.step));
      assert.deepStrictEqual([...new Set(blank)], ['positions'], 'only what is switched off has one colour');
      drawn.push(await page.$eval('#step-q canvas', (canvas) => canvas.toDataURL()));
    }
  }
  assert.strictEqual(new Set(drawn).size, 4, 'each width and colour scheme has its picture');
}

/** How long a reader waits for a letter. */
async function checkSpeed(page) {
  await setUp(page, {word: 'transformers', off: ['residual1']});
  const times = await page.evaluate(() => Array.from({length: 9}, (_, i) => {
    const start = performance.now();
    replaceLetter(0, i);
    return performance.now() - start;
  }).sort((a, b) => a - b));
  console.log(`a letter in ${times[4].toFixed(0)} ms, at most ${times[8].toFixed(0)} ms`);
  assert.ok(times[4] < 1000, `a letter takes ${times[4]} ms`);
}

harness.main(async (tools) => {
  tools.run('train_reverse', ['--save', path.join(tools.folder, 'run')]);
  const page = await tools.open(FILE);
  await checkNumbers(page, tools);
  await checkChangedPage(tools);
  await checkBreaks(page);
  await checkPointer(page);
  await checkDrag(page);
  await checkKeys(tools);
  await checkScreens(tools);
  await checkSpeed(page);
});
