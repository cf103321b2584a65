'use strict';
// The page that computes, as a reader uses it: what a change shows, by pointer, by keyboard, on all screens.

const assert = require('node:assert');
const harness = require('./harness.js');
const {FILE, setUp, traceOf} = require('./live.js');

const outputs = (page) => page.$$eval('#outputs button', (buttons) =>
  buttons.map((button) => button.firstChild.textContent).join(''));
const noteOf = (page, step) => page.textContent(`#steps [data-step="${step}"] .note`);
const number = (text) => Number(text.replaceAll('−', '-'));
const focused = (page) => page.evaluate(() => document.activeElement.id);

// ---- what is seen of a change ----

async function checkBreaks(page) {
  await setUp(page, {word: 'transformers'});
  assert.strictEqual(await outputs(page), 'sremrofsnart');
  assert.match(await page.textContent('#result'), /12 of 12 letters are correct\.$/);
  assert.strictEqual(await page.$$eval('.step .note b', (notes) => notes.map((note) => note.textContent).join('')), '');
  const pixels = () => page.$eval('#step-head canvas', (canvas) => canvas.toDataURL());
  const whole = await pixels();
  await page.check('#off-head');
  assert.notStrictEqual(await outputs(page), 'sremrofsnart');
  assert.ok((await page.$$('#outputs .wrong')).length > 6);
  assert.match(await page.textContent('#result'), /The whole model writes sremrofsnart\.$/);
  assert.notStrictEqual(await pixels(), whole);
  assert.match(await noteOf(page, 'head'), /768 of 768 changed, by at most/);
  assert.ok(!(await noteOf(page, 'weights')).includes('changed'), 'attention weights come before the head\'s output');
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
}

async function checkWeight(page) {
  await setUp(page, {word: 'transformers', weight: ['classifier.bias', 0, 18, -30]});
  assert.strictEqual(await page.textContent('#changed-weights'), 'Changed: classifier.bias[0, 18].');
  assert.match(await page.textContent('#value-before'), /^Trained: 0\.08/);
  assert.match(await noteOf(page, 'logits'), /12 of 312 changed/);
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

async function checkWordKeys(page) {
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
}

async function checkCellKeys(page) {
  await tabTo(page, '#step-q');
  for (const [key, name] of [['ArrowRight', 'q[0, 1]'], ['ArrowDown', 'q[1, 1]'], ['ArrowLeft', 'q[1, 0]'],
    ['ArrowUp', 'q[0, 0]'], ['ArrowUp', 'q[0, 0]'], ['End', 'q[0, 63]'], ['ArrowRight', 'q[0, 63]'], ['Home', 'q[0, 0]']]) {
    await press(page, key);
    const heading = await page.textContent('#panel-name');
    assert.ok(heading.startsWith(`${name} = `), `${key}: ${heading}`);
    const cell = await page.evaluate(() =>
      byId(document.activeElement.getAttribute('aria-activedescendant')).getAttribute('aria-label'));
    assert.ok(cell.startsWith('position ') && heading.endsWith(cell.split(': ')[1]), `${cell} for ${heading}`);
  }
}

/** From a cell to its arithmetic, on to an operand, and to a weight. */
async function checkPanelKeys(page) {
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
  const now = await page.evaluate(() => at(model.parameters[editor.place.parameter], 0, editor.place.column));
  assert.strictEqual(now, -7.5);
  await tabTo(page, '#repair');
  await press(page, 'Enter');
  assert.strictEqual(await page.textContent('#changed-weights'), 'No weight is changed.');
}

async function checkKeys({open}) {
  const page = await open(FILE);
  await checkWordKeys(page);
  await checkCellKeys(page);
  await checkPanelKeys(page);
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

/** A letter costs little, in time of the page's own thread, which other programs do not change. */
async function checkSpeed(page) {
  await setUp(page, {word: 'transformers', off: ['residual1']});
  const tools = await page.context().newCDPSession(page);
  await tools.send('Performance.enable', {timeDomain: 'threadTicks'});
  const seconds = async () =>
    (await tools.send('Performance.getMetrics')).metrics.find(({name}) => name === 'TaskDuration').value;
  const letters = 10;
  const start = await seconds();
  await page.evaluate((count) => {
    for (let letter = 0; letter < count; ++letter) replaceLetter(0, letter);
  }, letters);
  const milliseconds = 1000 * (await seconds() - start) / letters;
  console.log(`a letter takes ${milliseconds.toFixed(0)} ms of the processor`);
  assert.ok(milliseconds < 200, `a letter takes ${milliseconds} ms`);
}

harness.main(async (tools) => {
  const page = await tools.open(FILE);
  await checkBreaks(page);
  await checkWeight(page);
  await checkPointer(page);
  await checkDrag(page);
  await checkKeys(tools);
  await checkScreens(tools);
  await checkSpeed(page);
});
