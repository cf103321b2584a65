'use strict';
// The report of a training run as a reader has it: its numbers are those of the log.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');

/** The rows of a log as objects of texts, by the names of its columns. */
function readLog(file) {
  const [names, ...rows] = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => line.split(','));
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

/** What a page says at the points of the charts: one text a point. */
const points = (page) => page.$$eval('figure.chart .hit title', (titles) => titles.map((title) => title.textContent));

/** The texts that the charts of one run must have. */
function wanted(log) {
  const series = [
    ['training', 'loss', 'loss'], ['training', 'accuracy', 'accuracy'],
    ['held out', 'loss', 'held_out_loss'], ['held out', 'accuracy', 'held_out_accuracy'],
    ['training', 'learning rate', 'learning_rate'], ['training', 'norm', 'gradient_norm'],
  ];
  return series.flatMap(([name, what, column]) => log.filter((row) => row[column] !== '')
      .map((row) => `${name}: step ${row.step}, ${what} ${row[column]}`));
}

/** The cells of the table with this caption. */
const cells = (page, caption) => page.$$eval('table', (tables, start) => {
  const table = tables.find((each) => each.caption && each.caption.textContent.startsWith(start));
  return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
}, caption);

function writeLines(file) {
  let lines = '';
  for (let i = 0; i < 20; ++i) lines += `<fruit>\tan apple and ${i} pears\ntool\ta hammer or ${i} nails\n`;
  fs.writeFileSync(file, lines);
}

async function compareReport(page, log) {
  const said = (await points(page)).filter((text) => !text.includes('tokens a second'));
  assert.deepStrictEqual(said.sort(), wanted(log).sort());
  const last = log[log.length - 1];
  const [head, ...epochs] = await cells(page, 'The last step of each epoch');
  const column = (name) => head.indexOf(name);
  const row = epochs[epochs.length - 1];
  for (const [name, key] of [['step', 'step'], ['loss', 'loss'], ['held-out loss', 'held_out_loss'],
    ['held-out accuracy', 'held_out_accuracy'], ['gradient norm', 'gradient_norm']]) {
    assert.strictEqual(row[column(name)], last[key], name);
  }
  const summary = Object.fromEntries(await cells(page, 'Summary'));
  assert.strictEqual(summary['loss, last'], `${last.loss} (step ${last.step})`);
  const classes = await cells(page, 'Lines of --test');
  assert.deepStrictEqual(classes[0].slice(1, 3), ['<fruit>', 'tool']);
  const counted = classes.slice(1).flatMap((each) => each.slice(1, 3)).map(Number);
  assert.strictEqual(counted.reduce((a, b) => a + b), 40);
}

/** No chart's text is cut off, nothing is wider than the window. */
async function checkFit(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} wider than the window`);
  const outside = await page.$$eval('figure.chart > svg', (charts) => charts.flatMap((chart) => {
    const frame = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('text')].map((text) => text.getBoundingClientRect())
        .filter((box) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
  }).length);
  assert.strictEqual(outside, 0, 'texts beyond their chart');
}

harness.main(async ({open, folder, run}) => {
  const file = (name) => path.join(folder, name);
  writeLines(file('lines.tsv'));
  const train = ['--train', file('lines.tsv'), '--test', file('lines.tsv'), '--log', file('a.csv'), '--report', file('a.html')];
  const small = ['--width', '8', '--heads', '2', '--feed-forward', '16', '--batch', '4', '--epochs', '3', '--valid-share', '0.25'];
  run('train_classifier', [...train, ...small, '--save', file('run'), '--max-steps', '10']);
  const stopped = await open(file('a.html'));
  assert.match(await stopped.title(), /^train_classifier: stopped after step 10 of 24/);
  assert.ok((await points(stopped)).some((text) => text.startsWith('training: step 10, loss')));
  assert.ok(await stopped.isHidden('#follow'), 'a run that is over is not loaded again');

  // The run goes on; the page that is open has it after a reload.
  run('train_classifier', [...train, '--resume', file('run')]);
  await stopped.reload();
  const log = readLog(file('a.csv'));
  assert.strictEqual(log.length, 24);
  await compareReport(stopped, log);

  for (const options of [{}, {width: 390}, {width: 390, dark: true}]) await checkFit(await open(file('a.html'), options));

  // Of a run that goes on the reader may let it load itself.
  fs.writeFileSync(file('running.html'), fs.readFileSync(file('a.html'), 'utf8').replace('"running":false', '"running":true'));
  const running = await open(file('running.html'));
  await running.check('#follow input');
  assert.ok(running.url().endsWith('#follow'));
  await running.reload();
  assert.ok(await running.isChecked('#follow input'));

  fs.copyFileSync(file('a.csv'), file('b.csv'));
  const table = run('compare_runs', [file('a.csv'), file('b.csv'), '--report', file('runs.html')]);
  const runs = await open(file('runs.html'));
  const last = log[log.length - 1];
  assert.ok((await points(runs)).includes(`${file('b.csv')}: step ${last.step}, loss ${last.loss}`));
  assert.strictEqual((await cells(runs, 'What the logs say'))[1][2], last.loss);
  assert.ok(table.includes(last.held_out_loss));
  await checkFit(await open(file('runs.html'), {width: 390}));
});
