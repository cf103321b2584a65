'use strict';
// The page of a profile as a reader has it: boxes, tables that sort, on every screen.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');

harness.main(async ({open, folder, run}) => {
  const file = path.join(folder, 'profile.html');
  const data = path.join(folder, 'train.tsv');
  fs.writeFileSync(data, 'a\tthe cat sat on a mat\nb\tparis has a river\n'.repeat(40));
  run('train_classifier', ['--train', data, '--width', '32', '--layers', '2', '--epochs', '2', '--profile', file]);
  for (const options of [{}, {dark: true}, {width: 390}, {width: 390, dark: true}]) {
    const page = await open(file, options);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.strictEqual(wide, 0, `${options.width || 1400}: the page is wider than the screen`);
    // Forward and backward have different colours, and boxes lie in the box around them.
    const passes = await page.$$eval('.all > .box > span', (all) =>
      all.map((each) => [each.textContent.split(' ')[0], getComputedStyle(each).backgroundColor]));
    assert.deepStrictEqual(passes.map(([name]) => name), ['forward', 'backward']);
    assert.notStrictEqual(passes[0][1], passes[1][1]);
    const outside = await page.$$eval('.box .box', (all) => all.filter((box) => {
      const [inner, outer] = [box, box.parentElement.closest('.box')].map((each) => each.getBoundingClientRect());
      return inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5;
    }).length);
    assert.strictEqual(outside, 0);
    // By keyboard: a column sorts its table, and sorts it the other way round when used again.
    const cells = () => page.$$eval('table >> nth=0 >> tr td:nth-child(4)', (all) => all.map((each) => each.textContent));
    const calls = (await cells()).map((text) => text === '-' ? -1 : Number(text));
    for (const order of [(a, b) => b - a, (a, b) => a - b]) {
      await page.focus('table >> nth=0 >> th:nth-child(4) button');
      await page.keyboard.press('Enter');
      assert.deepStrictEqual((await cells()).map((text) => text === '-' ? -1 : Number(text)), calls.sort(order));
    }
  }
  if (process.env.PICTURES) {
    for (const [name, options] of [['wide', {}], ['dark', {dark: true}], ['narrow', {width: 390}]]) {
      await (await open(process.env.PAGE || file, options)).screenshot({path: path.join(process.env.PICTURES, `${name}.png`), fullPage: true});
    }
  }
});
