'use strict';
// The page of several runs as a reader has it: colours and dashes, values at a place, links.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');
const looks = require('./looks.js');

const SETTINGS = ['lr=1e-3', 'lr=1e-2', 'lr=3e-2'];
const LOSS = 'Loss in training';

/** Colour and dashes of the curves of the first chart, and of the samples in its legend. */
const strokes = (page, selector) => page.$$eval(`figure.chart:first-of-type ${selector}`, (lines) => lines.map((line) => {
  const style = getComputedStyle(line);
  return `${style.stroke} ${style.strokeDasharray}`;
}));

async function checkColours(page) {
  const lines = await strokes(page, '> svg .line');
  const [colours, dashes] = [0, 1].map((part) => lines.map((line) => line.split(/(?<=\)) /)[part]));
  assert.strictEqual(lines.length, 6);
  assert.strictEqual(new Set(lines).size, 6, `${lines}`);
  assert.strictEqual(new Set(colours).size, 3, `${colours}`);
  assert.strictEqual(new Set(dashes).size, 2, `${dashes}`);
  assert.deepStrictEqual(await strokes(page, '.legend .line'), lines, 'the legend has the same');
}

/** Pointing at a chart, or a tap, shows a place and its values in the legend. */
async function checkPointing(page, {touch}) {
  const chart = page.locator('figure.chart').first();
  await chart.locator('> svg').scrollIntoViewIfNeeded();
  const box = await chart.locator('> svg').boundingBox();
  const [x, y] = [box.x + box.width * 0.21, box.y + box.height / 2];  // the axis begins there
  if (touch) await page.touchscreen.tap(x, y);
  else await page.mouse.move(x, y);
  assert.strictEqual(await chart.locator('.at').textContent(), 'step 1, epoch 1');
  assert.strictEqual((await chart.locator('.value').allTextContents()).length, 6);
  assert.match(await chart.locator('> svg').getAttribute('aria-valuetext'), /^step 1, epoch 1: .*lr=1e-3, seed=0 \d/);
}

/** The names of rows stay when a table scrolls, and leave room for the values; on paper nothing scrolls. */
async function checkTables(page) {
  const names = await page.$$eval('.scroll', (all) => all.flatMap((box) => {
    box.scrollLeft = 100;
    const frame = box.getBoundingClientRect();
    const places = [...box.querySelectorAll('tr > :first-child')].map((each) => each.getBoundingClientRect());
    return places.map((place) => place.left === frame.left && place.width < frame.width / 2);
  }));
  assert.ok(names.length > 6 && names.every(Boolean), `${names}`);
  await page.emulateMedia({media: 'print'});
  assert.ok(await page.$$eval('.scroll', (all) => all.every((box) => getComputedStyle(box).overflow === 'visible')));
}

harness.main(async ({open, folder, run}) => {
  const folders = [];
  for (const setting of SETTINGS) {
    for (const seed of ['0', '1']) {
      const save = path.join(folder, `${setting},seed=${seed}`);
      fs.mkdirSync(save);
      run('train_reverse', ['--words', '200', '--epochs', '2', '--width', '8', '--lr', setting.slice(3), '--seed', seed,
        '--save', save, '--report', path.join(save, 'report.html')]);
      folders.push(save);
    }
  }
  const file = process.env.PAGE || path.join(folder, 'runs.html');
  run('compare_runs', [...folders, '--report', file]);
  for (const options of looks.SCREENS) {
    const page = await open(file, options);
    assert.strictEqual(await looks.excess(page), 0);
    await checkColours(page);
    assert.deepStrictEqual(await looks.overlaps(page, 'figure.chart', 'text'), []);
    assert.ok(await looks.leastContrast(page, 'figure.chart text, .at, .value') >= 4.5);
    assert.ok(await looks.leastSize(page, 'figure.chart text') >= 12);
    await checkTables(page);
  }
  const page = await open(file);
  await checkPointing(page, {});
  await checkPointing(await open(file, {width: 390, touch: true}), {touch: true});

  const log = fs.readFileSync(path.join(folder, 'lr=1e-2,seed=1', 'log.csv'), 'utf8').trim().split('\n').slice(1).map((line) => line.split(','));
  const rows = await looks.readings(page, LOSS);
  assert.deepStrictEqual(rows.map(([place]) => place), log.map(([step, epoch]) => `step ${step}, epoch ${epoch}`));
  rows.forEach(([, ...legend], i) => {
    assert.deepStrictEqual(legend.map((line) => line.split('seed=0 ')[0]), SETTINGS.map((each) => path.join(folder, each)));
    assert.strictEqual(legend[1].split('seed=1 ')[1], log[i][2]);
  });

  const links = await page.$$eval('th a', (all) => all.map((each) => [each.textContent, each.href]));
  assert.strictEqual(links.length, 6);
  for (const [name, address] of links) {
    const report = await open(decodeURIComponent(new URL(address).pathname));
    assert.match(await report.title(), /^train_reverse: finished/, name);
  }
});
