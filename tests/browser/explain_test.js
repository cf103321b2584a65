'use strict';
// The page of explain as a reader has it: the numbers that the program prints, on every screen.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');

const SENTENCE = path.join(__dirname, '..', 'golden', 'folders', 'sentence');

harness.main(async ({open, folder, run}) => {
  const file = path.join(folder, 'why.html');
  const printed = run('explain', ['--model', SENTENCE, '--text', 'the <cat> sat', '--with', 'a cat sat on the mat',
    '--output', file]);
  const rows = printed.split('\n').filter((line) => /^-?\d/.test(line) && !line.includes('\tlayer ')).map((line) => line.split('\t'));
  for (const options of [{}, {dark: true}, {width: 390}, {width: 390, dark: true}]) {
    const page = await open(file, options);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.strictEqual(wide, 0, `${options.width || 1400}: the page is wider than the screen`);
    const words = await page.$$eval('.words span', (spans) => spans.map((span) => [span.title, span.textContent]));
    assert.strictEqual(words.length, rows.length);
    words.forEach(([title, token], i) => {
      assert.strictEqual(token, rows[i][1]);
      assert.ok(Math.abs(Number(title.replace('\u2212', '-')) - Number(rows[i][0])) < 6e-4, `${title}, ${rows[i]}`);
    });
    const sections = await page.$$eval('section', (all) => all.map((each) => each.getBoundingClientRect().left));
    assert.strictEqual(sections.length, 2);
    assert.strictEqual(sections[0] === sections[1], options.width === 390, 'texts are next to each other if there is room');
    assert.deepStrictEqual(await page.$$eval('h2', (all) => all.map((each) => each.textContent)),
      ['“the <cat> sat”', '“a cat sat on the mat”']);
    // A map that is wider than its box scrolls in it, and the names of its rows stay.
    await page.addStyleTag({content: '.map { min-width: 90rem; }'});
    for (const box of await page.$$('.scroll:has(.map)')) {
      const shift = await box.evaluate((each) => {
        each.scrollLeft = 300;
        const names = [...each.querySelectorAll('tr > :first-child')];
        return {scrolled: each.scrollLeft, away: names.filter((name) => name.getBoundingClientRect().left !== each.getBoundingClientRect().left).length};
      });
      assert.deepStrictEqual(shift, {scrolled: 300, away: 0});
    }
    // The keyboard reaches the numbers and each table that may be too wide.
    await page.keyboard.press('Tab');
    assert.strictEqual(await page.evaluate(() => document.activeElement.tagName), 'SUMMARY');
    await page.keyboard.press('Enter');
    assert.ok(await page.isVisible('details td'));
  }
  // The strongest shade is that of the largest number, and paper has it too.
  const page = await open(file);
  await page.emulateMedia({media: 'print'});
  const strongest = await page.$eval('.words [style="--share:1.00"]', (span) => getComputedStyle(span).backgroundColor);
  assert.notStrictEqual(strongest, 'rgba(0, 0, 0, 0)');
  // So has it the folded numbers, and no table is wider than A4 between its margins.
  assert.ok(await page.$$eval('details td', (cells) => cells.length > 0 && cells.every((cell) => cell.checkVisibility())));
  await page.setViewportSize({width: 718, height: 1000});
  const wide = await page.$$eval('table', (tables) => tables.filter((table) => table.getBoundingClientRect().right > 718).length);
  assert.strictEqual(wide, 0);
  if (process.env.PICTURES) {
    for (const [name, options] of [['wide', {}], ['dark', {dark: true}], ['narrow', {width: 390}]]) {
      await (await open(process.env.PAGE || file, options)).screenshot({path: path.join(process.env.PICTURES, `${name}.png`), fullPage: true});
    }
  }
  fs.rmSync(file);
});
