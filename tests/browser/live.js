'use strict';
// The page that computes, examples/course/live.html, as its tests use it.

const path = require('node:path');

const FILE = path.join(__dirname, '../../examples/course/live.html');

/** Every step's numbers. */
const traceOf = (page) => page.evaluate(() =>
  Object.fromEntries(Object.entries(model.trace).map(([step, {values}]) => [step, [...values]])));

/** Sets a word, the parts that are switched off, and a weight: parameter, row, column, value. */
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

module.exports = {FILE, setUp, traceOf};
