'use strict';
// The roofline of bench as a reader has it: names on the roofs, texts apart, a shape for each series.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');
const looks = require('./looks.js');

harness.main(async ({open, folder}) => {
  const file = path.join(folder, 'roofline.html');
  fs.writeFileSync(file, fs.readFileSync(path.join(__dirname, '..', '..', 'bench', 'roofline.svg'), 'utf8'));
  for (const dark of [false, true]) {
    const page = await open(file, {width: 900, dark});
    const labels = await page.$$eval('.label', (texts) => texts.map((text) => text.textContent));
    for (const roof of [/^memory \d+ GB\/s$/, /^L2 \d+ GB\/s$/, /^peak \d+ GFLOP\/s$/]) {
      assert.ok(labels.some((label) => roof.test(label)), `${roof}: ${labels}`);
    }
    assert.deepStrictEqual(await looks.overlaps(page, 'svg.chart', 'text'), []);
    assert.ok(await looks.leastContrast(page, 'text') >= 4.5);
    assert.ok(await looks.leastSize(page, 'text') >= 12);
    const series = await page.$$eval('svg.chart > g', (groups) => groups.map((group) => [getComputedStyle(group.querySelector('.dot')).fill,
      group.querySelector('.dot').getAttribute('d').replace(/^M[\d.]+ [\d.]+/, '')]));
    assert.ok(series.length > 4);
    for (const kind of [0, 1]) assert.strictEqual(new Set(series.map((each) => each[kind])).size, series.length);
  }
});
