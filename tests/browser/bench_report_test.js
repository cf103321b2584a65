'use strict';
// The page of the benchmarks as a reader has it: its numbers are those of the JSON.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const harness = require('./harness.js');

/** A case whose times and costs give numbers with few digits. */
function one(name, by, threads, milliseconds, more = {}) {
  return {name, by, threads, best_s: milliseconds / 1000, median_s: milliseconds / 500, spread: 0.07, flops: 2e9, bytes: 1e7,
    peak_flops: 4e11, error: 0.375, ...more};
}

const RESULTS = {
  machine: {'cpu': 'A & B <C>', 'threads': 2, 'caches': [{level: 1, kind: 'Data', bytes: 32768}]},
  bandwidth: [{level: 'L2', bytes: 1e6, bytes_s: 2e11}, {level: 'memory', bytes: 1e9, bytes_s: 3e10}],
  cases: [
    one('matmul/M:1024/N:1024/K:1024', 'tessera', 2, 12.5),
    one('matmul/M:1024/N:1024/K:1024', 'openblas', 2, 15),
    one('matmul/M:1024/N:1024/K:1024', 'tessera', 1, 25),
    one('matmul/M:512/N:512/K:512', 'tessera', 2, 6.25),
    one('attention/B:1/H:12/T:512/d:64', 'tessera', 2, 14.1),
    one('attention/B:1/H:12/T:512/d:64', 'ort', 2, 28.2, {error: undefined}),
    one('attention_fused/B:1/H:1/T:8/d:8', 'tessera', 2, 2, {memory_bytes: 4096}),
    one('attention_unfused/B:1/H:1/T:8/d:8', 'tessera', 2, 6, {memory_bytes: 8e6}),
    one('matmul_ladder/step:0', 'tessera', 1, 400, {label: 'the <definition>'}),
  ],
};

const seconds = (value) => value >= 0.01 ? `${(value * 1e3).toPrecision(3)} ms` : `${(value * 1e3).toFixed(2)} ms`;

/** The rows of a section's last table, the first is its head. */
const rows = (page, section) => page.$$eval(`#${section} table`, (tables) =>
  [...tables[tables.length - 1].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));

/** What the points of a section's charts say. */
const points = (page, section) => page.$$eval(`#${section} .hit title`, (titles) => titles.map((each) => each.textContent));

async function compareCases(page, cases) {
  const [head, ...shown] = await rows(page, 'cases');
  assert.strictEqual(shown.length, cases.length);
  for (const [i, each] of cases.entries()) {
    const cell = (name) => shown[i][head.indexOf(name)];
    assert.deepStrictEqual(shown[i].slice(0, 3), [each.name, each.by, String(each.threads)]);
    assert.strictEqual(cell('best'), seconds(each.best_s), each.name);
    assert.strictEqual(cell('median'), seconds(each.median_s), each.name);
    assert.ok(Math.abs(Number(cell('GFLOP/s')) * 1e9 * each.best_s / each.flops - 1) < 6e-3, each.name);
    assert.strictEqual(cell('of peak'), `${Math.round(100 * each.flops / each.best_s / each.peak_flops)} %`, each.name);
    assert.strictEqual(cell('error'), each.error === undefined ? '' : each.error.toFixed(3), each.name);
  }
}

async function compareTables(page) {
  const machine = Object.fromEntries(await rows(page, 'machine'));
  assert.deepStrictEqual([machine.cpu, machine.threads, machine.caches], ['A & B <C>', '2', 'L1 Data 32.8 kB']);
  assert.deepStrictEqual((await rows(page, 'bandwidth')).slice(1), [['L2', '1.00 MB', '200'], ['memory', '1.00 GB', '30.0']]);
  assert.deepStrictEqual((await rows(page, 'fused'))[1],
      ['B:1/H:1/T:8/d:8', '2', '2.00 ms', '6.00 ms', '3.00 times', '4.10 kB', '8.00 MB']);
  const [head, ...peers] = await rows(page, 'peers');
  assert.deepStrictEqual(head.slice(2, 6), ['tessera', 'openblas', 'ort', 'best other / ours']);
  assert.deepStrictEqual(peers.map((row) => row.slice(2)), [
    ['12.5 ms', '15.0 ms', '', '1.20', '0.38, 0.38'], ['14.1 ms', '', '28.2 ms', '2.00', '0.38, -'],
  ]);
}

async function compareCharts(page) {
  const ladder = await points(page, 'ladders');
  assert.strictEqual(ladder.length, 1);
  assert.match(ladder[0], /\b5\b/, '2 GFLOP in 0.4 s');
  const ours = RESULTS.cases.filter((each) => each.by === 'tessera' && each.threads === 2 && /^(matmul|attention)\//.test(each.name));
  const roofline = (await points(page, 'roofline')).filter((text) => !text.startsWith('roof of'));
  assert.strictEqual(roofline.length, ours.length);
  for (const {name, best_s} of ours) {
    const kind = name.split('/')[0];
    const speed = 2 / best_s;
    const said = roofline.filter((text) => text.startsWith(kind)).flatMap((text) => text.match(/\d+(\.\d+)?/g).map(Number));
    assert.ok(said.some((number) => Math.abs(number / speed - 1) < 6e-3), `${name}: ${speed} is not in ${roofline}`);
  }
  const threads = (await points(page, 'threads')).filter((text) => text.startsWith('matmul/M:1024'));
  assert.deepStrictEqual(threads.map((text) => text.match(/[\d.]+$/)[0]), ['1', '2'], 'twice as fast on two');
}

/** The page is dark where its reader's screen is, its text can be read, and nothing is wider than the window. */
async function checkLook(page, dark) {
  const [ground, text] = await page.evaluate(() => {
    const light = (colour) => colour.match(/\d+(\.\d+)?/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
    const style = getComputedStyle(document.body);
    return [light(style.backgroundColor), light(style.color)];
  });
  assert.ok(dark ? ground < 0.3 && text > 0.6 : ground > 0.7 && text < 0.4, `ground ${ground}, text ${text}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} wider than the window`);
}

harness.main(async ({open, folder, run}) => {
  const file = (name) => path.join(folder, name);
  fs.writeFileSync(file('run.json'), JSON.stringify(RESULTS));
  run('../bench/tessera_bench_report', [file('run.json'), '--html', file('report.html'), '--json', file('report.json')]);
  const page = await open(file('report.html'));
  assert.deepStrictEqual(JSON.parse(fs.readFileSync(file('report.json'), 'utf8')).cases, JSON.parse(JSON.stringify(RESULTS.cases)));
  await compareCases(page, RESULTS.cases);
  await compareTables(page);
  await compareCharts(page);
  const links = await page.$$eval('nav a', (all) => all.map((link) => Boolean(document.querySelector(link.hash))));
  assert.ok(links.length >= 8 && links.every(Boolean), 'a link leads to each section');
  await checkLook(page, false);
  await checkLook(await open(file('report.html'), {width: 390, dark: true}), true);
});
