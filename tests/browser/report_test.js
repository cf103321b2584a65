'use strict';
// The report of a training run as a reader has it: its numbers are those of the log.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');
const looks = require('./looks.js');

/** The rows of a log as objects of texts, by the names of its columns. */
function readLog(file) {
  const [names, ...rows] = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => line.split(','));
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

/** What the chart of a quantity must show, a row for each step: an evaluation counts from its step on. */
function wanted(log, column, heldOut) {
  const place = (row) => `step ${row.step}, epoch ${row.epoch}`;
  const evaluations = log.filter((row) => row[heldOut]);
  return log.map((row) => {
    const line = [place(row), `training ${row[column]}`];
    if (evaluations.length === 0) return line;
    const last = evaluations.filter((each) => Number(each.step) <= Number(row.step)).pop() || evaluations[0];
    return [...line, `held out ${last[heldOut]}${last === row ? '' : ` (${place(last)})`}`];
  });
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
  for (const [caption, column, heldOut] of [['Loss', 'loss', 'held_out_loss'], ['Accuracy', 'accuracy', 'held_out_accuracy'],
    ['Learning rate', 'learning_rate'], ['Norm of the gradient, before clipping', 'gradient_norm']]) {
    assert.deepStrictEqual(await looks.readings(page, caption), wanted(log, column, heldOut), caption);
  }
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
  assert.match(summary.time, /^[\d.]+ s$/);
  const classes = await cells(page, 'Lines of --test');
  assert.deepStrictEqual(classes[0].slice(1, 3), ['<fruit>', 'tool']);
  const counted = classes.slice(1).flatMap((each) => each.slice(1, 3)).map(Number);
  assert.strictEqual(counted.reduce((a, b) => a + b), 40);
}

/** Nothing is wider than the window; texts of charts are whole, apart and large enough; axes have their ends. */
async function checkFit(page) {
  assert.ok(await looks.excess(page) <= 0, 'the page is wider than the window');
  const outside = await page.$$eval('figure.chart > svg', (charts) => charts.flatMap((chart) => {
    const frame = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('text')].map((text) => text.getBoundingClientRect())
        .filter((box) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
  }).length);
  assert.strictEqual(outside, 0, 'texts beyond their chart');
  assert.deepStrictEqual(await looks.overlaps(page, 'figure.chart', 'text, figcaption, .at, .legend span:not(.value)'), []);
  assert.ok(await looks.leastContrast(page, 'figure.chart text, figcaption, .at, .value') >= 4.5);
  assert.ok(await looks.leastSize(page, 'figure.chart text') >= 12);
  const ends = await page.$$eval('figure.chart', (charts) => charts.map((chart) =>
    [...chart.querySelectorAll('text[text-anchor=middle]')].map((text) => text.textContent)));
  for (const texts of ends.filter((each) => each.includes('step'))) assert.ok(texts.includes('1') && texts.includes('24'), `${texts}`);
}

/** A table of 26 classes: it fits a wide screen, and scrolls in its own box on a narrow one, with its labels. */
async function checkClasses(page, width) {
  const box = page.locator('.scroll:has(.classes)');
  const room = await box.evaluate((each) => each.scrollWidth - each.clientWidth);
  assert.strictEqual(await looks.excess(page), 0);
  assert.strictEqual(room > 0, width === 390, `${room}`);
  await box.evaluate((each) => each.scrollTo(1e4, 0));
  const frame = await box.boundingBox();
  for (const row of await page.locator('.classes th[scope=row]').all()) {
    const place = await row.boundingBox();
    assert.ok(place.x >= frame.x - 1 && place.width < frame.width / 2, 'a label is out of sight');
  }
  const cut = await page.$$eval('.classes th', (all) => all.filter((each) => each.scrollWidth > each.clientWidth + 1 ||
      each.scrollHeight > each.clientHeight + 1).map((each) => each.textContent));
  assert.deepStrictEqual(cut, []);
  assert.ok(await looks.leastContrast(page, '.classes :is(td, th)') >= 4.5);
}

async function checkManyClasses({open, file, run}) {
  run('train_reverse', ['--words', '300', '--epochs', '2', '--report', file('letters.html')]);
  const lines = [];
  for (let i = 0; i < 26; ++i) lines.push(`${['HUM', 'LOC', 'description'][i % 3]}:subject${i}\tline ${i}\n`.repeat(2));
  fs.writeFileSync(file('many.tsv'), lines.join(''));
  run('train_classifier', ['--train', file('many.tsv'), '--test', file('many.tsv'), '--epochs', '1', '--width', '8', '--heads', '2',
    '--report', file('labels.html')]);
  for (const [name, dark] of [['letters.html', false], ['labels.html', true]]) {
    for (const width of [1400, 390]) await checkClasses(await open(file(name), {width, dark}), width);
  }
}

/** First the options that the command line has changed; all others are folded, but not on paper. */
async function checkOptions(page) {
  const shown = (await cells(page, 'Options that differ')).map(([name]) => name);
  assert.ok(shown.includes('--width') && shown.includes('--train') && !shown.includes('--seed'), `${shown}`);
  const folded = (await cells(page, 'Defaults')).map(([name]) => name);
  assert.ok(folded.includes('--seed') && !folded.includes('--width'), `${folded}`);
  assert.ok(!await page.isVisible('details td'));
  await page.click('summary');
  assert.ok(await page.isVisible('details td'));
}

harness.main(async ({open, folder, run}) => {
  const file = (name) => path.join(folder, name);
  writeLines(file('lines.tsv'));
  const train = ['--train', file('lines.tsv'), '--test', file('lines.tsv'), '--log', file('a.csv'), '--report', file('a.html')];
  const small = ['--width', '8', '--heads', '2', '--feed-forward', '16', '--batch-size', '4', '--epochs', '3', '--held-out-share', '0.25'];
  run('train_classifier', [...train, ...small, '--save', file('run'), '--max-steps', '10']);
  const stopped = await open(file('a.html'));
  assert.match(await stopped.title(), /^train_classifier: stopped after step 10 of 24/);
  assert.deepStrictEqual((await looks.readings(stopped, 'Loss')).length, 10);
  assert.ok(await stopped.isHidden('#follow'), 'a run that is over is not loaded again');

  // The run goes on; the page that is open has it after a reload.
  run('train_classifier', [...train, '--resume', file('run')]);
  await stopped.reload();
  const log = readLog(file('a.csv'));
  assert.strictEqual(log.length, 24);
  await compareReport(stopped, log);

  await checkOptions(stopped);

  for (const options of looks.SCREENS) await checkFit(await open(file('a.html'), options));
  await checkManyClasses({open, file, run});

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
  const both = ['a.csv', 'b.csv'].map((name) => `${file(name)} ${last.loss}`);
  assert.deepStrictEqual((await looks.readings(runs, 'Loss in training')).pop(), [`step ${last.step}, epoch ${last.epoch}`, ...both]);
  assert.strictEqual((await cells(runs, 'What the logs say'))[1][2], last.loss);
  assert.ok(table.includes(last.held_out_loss));
  await checkFit(await open(file('runs.html'), {width: 390}));
});
