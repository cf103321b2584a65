'use strict';
// The arithmetic of charts of training runs, without a browser: axes, durations, and the curves of logs.

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const ASSETS = path.join(__dirname, '../../models/pages/assets');

/** The functions of the pages' scripts. What follows `const data =` draws, and needs a page. */
function load() {
  const code = ['chart_axes.js', 'chart.js', 'run_charts.js'].map((name) => fs.readFileSync(path.join(ASSETS, name), 'utf8')).join('\n');
  const functions = code.slice(0, code.indexOf('const data ='));
  return vm.runInThisContext(`(() => {${functions}\nreturn {roundTicks, axisOf, duration, thinned, readLog, chartsOf, overTime};})()`);
}

const {roundTicks, axisOf, duration, thinned, readLog, chartsOf, overTime} = load();

function checkAxes() {
  for (const [low, high, more, want] of [[0, 1, {}, '0 0.2 0.4 0.6 0.8 1.0'], [-1, 1, {}, '-1.0 -0.5 0 0.5 1.0'],
    [1, 12000, {}, '5000 10000'], [3.1, 3.4, {}, '3.1 3.2 3.3 3.4'], [0, 1e-5, {}, '0 2e-6 4e-6 6e-6 8e-6 1e-5'],
    [0, 4e9, {}, '0 1e9 2e9 3e9 4e9'], [1, 1000, {isLog: true}, '1 10 100 1000'], [0.3, 8, {isLog: true}, '0.5 1 2 5'],
    [3.1, 3.4, {isLog: true}, '3.1 3.2 3.3 3.4'], [4.75, 5.25, {whole: true}, '5'], [0, 200, {isTime: true}, '0 s 1 min 2 min 3 min'],
    [0, 12600, {isTime: true}, '0 s 1 h 2 h 3 h']]) {
    assert.strictEqual(roundTicks({low, high, ...more}, 6).map(({text}) => text).join(' '), want);
  }
  for (const values of [[], [NaN], [0], [5], [-5, -5], [1e-9, 2e9], [1, 1 + 1e-15], [5e-324], [9e299, -9e299]]) {
    const {low, high} = axisOf({}, values);
    assert.ok(low < high && values.every((value) => isNaN(value) || low <= value && value <= high), `${values}: ${low} to ${high}`);
  }
}

function checkDurations() {
  for (const [seconds, text] of [[0, '0 s'], [0.7, '0.7 s'], [9.94, '9.9 s'], [9.96, '10 s'], [12.3, '12 s'], [59.6, '1 min'],
    [200, '3 min 20 s'], [3600, '1 h'], [3900, '1 h 5 min'], [360000, '100 h']]) {
    assert.strictEqual(duration(seconds), text);
  }
}

/** What is drawn of a long curve. */
function checkThinning() {
  const points = Array.from({length: 100000}, (_, i) => ({x: i, y: Math.sin(i / 1000)}));
  [points[12345].y, points[54321].y, points[77777].y] = [7, -7, NaN];
  const xs = thinned(points, ({y}) => isFinite(y)).map(({x}) => x);
  assert.ok(xs.length <= 450 && xs.length >= 200 && [0, 12345, 54321, 77777, 99999].every((x) => xs.includes(x)), `${xs}`);
  assert.ok(xs.every((x, i) => i === 0 || x > xs[i - 1]));
}

const LOG = `step,epoch,loss,accuracy,tokens,seconds,held_out_loss
1,1,2.5,0.25,100,1,
2,1,nan,0.5,300,2,2.25
3,2,1.5,0.75,100,0.5,
`;

/** Values as the log writes them, at their steps; the time and the speed of a run that went on after step 2. */
function checkCurves() {
  const rows = readLog(LOG);
  const charts = Object.fromEntries(chartsOf([{name: 'training', rows}]).map((chart) => [chart.title, chart]));
  assert.deepStrictEqual(Object.keys(charts), ['Loss', 'Accuracy', 'Speed, with the time of evaluations']);
  const {x, series} = charts.Loss;
  assert.deepStrictEqual([x.low, x.high], [1, 3]);
  assert.deepStrictEqual(series.map(({name, points}) => [name, ...points.map(({at, text}) => `${at}: ${text}`)]), [
    ['training', 'step 1, epoch 1: 2.5', 'step 2, epoch 1: nan', 'step 3, epoch 2: 1.5'],
    ['held out', 'step 2, epoch 1: 2.25'],
  ]);
  assert.deepStrictEqual(series[0].points.map(({x: step, y}) => [step, y]), [[1, 2.5], [2, NaN], [3, 1.5]]);
  assert.deepStrictEqual(charts['Speed, with the time of evaluations'].series[0].points.map(({y}) => y), [100, 300, 200]);
  assert.deepStrictEqual(overTime({rows}).map((point) => point.x), [1, 2, 2.5]);
}

/** Runs of a setting have one colour, and runs of a seed one pattern. */
function checkLooks() {
  const runs = [['a', '0'], ['a', '1'], ['b', '0'], ['b', '1']].map(([setting, seed]) => ({name: setting + seed, setting, seed, rows: readLog(LOG)}));
  const charts = chartsOf(runs);
  assert.deepStrictEqual(charts.map(({title}) => title), ['Loss in training', 'Loss of held-out examples', 'Accuracy in training',
    'Loss in training over time', 'Speed, with the time of evaluations']);
  assert.deepStrictEqual(charts[0].series.map(({look}) => `${look.colour} ${look.pattern}`), ['0 0', '0 1', '1 0', '1 1']);
}

checkAxes();
checkDurations();
checkThinning();
checkCurves();
checkLooks();
