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
    // Names, times and percent are in sight on the narrowest screen, and names stay when the others scroll.
    for (const table of await page.$$('table')) {
      const seen = await table.evaluate((each) => {
        const box = each.parentElement.getBoundingClientRect();
        const last = [...each.rows[0].cells].findIndex((cell) => cell.textContent === '% of wall');
        const rights = [...each.rows].map((row) => row.cells[last].getBoundingClientRect().right);
        each.parentElement.scrollLeft = 100;
        const lefts = [...each.rows].map((row) => row.cells[0].getBoundingClientRect().left);
        each.parentElement.scrollLeft = 0;
        return {right: Math.max(...rights) <= box.right, left: lefts.every((left) => left === box.left)};
      });
      assert.deepStrictEqual(seen, {right: true, left: true}, `${options.width || 1400}`);
    }
    // By keyboard: a column sorts its table, and sorts it the other way round when used again.
    const cells = () => page.$$eval('table >> nth=0 >> tr td:nth-child(7)', (all) => all.map((each) => each.textContent));
    const calls = (await cells()).slice(0, -1).map(Number);  // without the summary of the rows left out
    for (const order of [(a, b) => b - a, (a, b) => a - b]) {
      await page.focus('table >> nth=0 >> th:nth-child(7) button');
      await page.keyboard.press('Enter');
      assert.deepStrictEqual((await cells()).slice(0, -1).map(Number), calls.sort(order));
    }
    // Texts begin at A, and the summary of the rows left out stays the last.
    const names = () => page.$$eval('table >> nth=0 >> tr td:nth-child(2)', (all) => all.map((each) => each.textContent));
    const ops = (await names()).slice(0, -1).sort((a, b) => a.localeCompare(b));
    assert.ok(new Set(ops).size > 1, 'ops differ');
    for (const [said, order] of [['ascending', ops], ['descending', [...ops].reverse()]]) {
      await page.click('table >> nth=0 >> th:nth-child(2) button');
      assert.deepStrictEqual((await names()).slice(0, -1), order);
      assert.strictEqual(await page.getAttribute('table >> nth=0 >> th:nth-child(2)', 'aria-sort'), said);
      assert.match(await page.textContent('table >> nth=0 >> tr:last-child th'), /^\d+ rows below 0.1 %$/);
    }
  }
  if (process.env.PICTURES) {
    for (const [name, options] of [['wide', {}], ['dark', {dark: true}], ['narrow', {width: 390}]]) {
      await (await open(process.env.PAGE || file, options)).screenshot({path: path.join(process.env.PICTURES, `${name}.png`), fullPage: true});
    }
  }
});
