'use strict';
// ONNX Runtime on our cases: the JSON of tessera_bench, by "ort".
//
//   tessera_bench linear encoder --json ours.json
//   NODE_PATH=/where/npm/put/node_modules node bench/peers/ort.js --like ours.json --json ort.json
//   tessera_bench_report ours.json ort.json --readme bench/README.md

const fs = require('node:fs');
const os = require('node:os');
const {performance} = require('node:perf_hooks');
const {parseArgs} = require('node:util');

const USAGE = `usage: node ort.js [--like OURS.json] [--json FILE] [--threads N] [--seconds S] [NAME...]
  NAME            cases, such as linear/M:8/K:768/N:768/gelu:0
  --like FILE     results of tessera_bench, whose cases are run if ONNX Runtime supports them
  --json FILE     output file; standard output if absent
  --threads N     threads; those of --like if absent, or one per processor
  --seconds S     seconds of measurement per case; 0.4 if absent`;

/** Ends the program with one line. */
function fail(message) {
  console.error(`ort.js: ${message}`);
  process.exit(2);
}

/** A number above 0 that an option gave. */
function positive(option, text) {
  const value = Number(text);
  return value > 0 && Number.isFinite(value) ? value : fail(`${option} must be a number above 0, got '${text}'`);
}

/** The kind and the sizes that a name has; nothing where ONNX Runtime has no such case. */
function parse(name, kinds) {
  const [kind, ...parts] = name.split('/');
  const sizes = Object.fromEntries(parts.map((part) => part.split(':')).map(([key, value]) => [key, Number(value)]));
  if (!Object.hasOwn(kinds, kind)) return undefined;
  const {must, may} = kinds[kind];
  const known = Object.entries(sizes).every(([key, value]) => [...must, ...may].includes(key) &&
    Number.isSafeInteger(value) && value >= (key === 'gelu' ? 0 : 1));
  return known && must.every((key) => key in sizes) ? {kind, sizes} : undefined;
}

/** Cases to run: {name, flops, bytes, ...}. */
function selected(names, ours, kinds) {
  for (const name of names) {
    if (!parse(name, kinds)) fail(`NAME must be a case of ${Object.keys(kinds).join(', ')} without masks, in float32, got '${name}'`);
  }
  const like = ours ? ours.cases.filter((each) => each.by === 'tessera' && !each.failure && parse(each.name, kinds)) : [];
  return [...names.map((name) => ({name})), ...like];
}

const quantile = (sorted, part) => {
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
};

/** What the times of all calls say, as tessera_bench says it. */
function summary(calls) {
  const sorted = Float64Array.from(calls).sort();
  const median = quantile(sorted, 0.5);
  return {calls: calls.length, best_s: sorted[0], median_s: median,
    spread: (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / median, noisy: median > 1.1 * sorted[0]};
}

/** Why a result cannot be right; nothing where it has its shape and finite numbers. */
function wrong(result, shape) {
  if (String(result.dims) !== String(shape)) return `the shape of the result must be ${shape}, got ${result.dims}`;
  return result.data.every(Number.isFinite) ? undefined : 'the result must be finite, got NaN or infinities';
}

async function measure(ort, {modelOf, uniform}, {kind, sizes}, threads, seconds) {
  const {bytes, inputs, output} = modelOf(kind, sizes);
  const session = await ort.InferenceSession.create(bytes,
    {intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', executionMode: 'sequential'});
  const feeds = Object.fromEntries(Object.entries(inputs).map(([name, shape]) =>
    [name, new ort.Tensor('float32', uniform(shape, 1), shape)]));
  const failure = wrong((await session.run(feeds)).y, output);
  if (failure) return {failure};
  for (let call = 0; call < 2; ++call) await session.run(feeds);
  const calls = [];
  const start = performance.now();
  while (calls.length < 5 || performance.now() - start < 1000 * seconds) {
    const call = performance.now();
    await session.run(feeds);
    calls.push((performance.now() - call) / 1000);
  }
  await session.release();
  return summary(calls);
}

/** Writes a file, whole or not at all. */
function write(file, text) {
  fs.writeFileSync(`${file}.new`, text);
  fs.renameSync(`${file}.new`, file);
}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (error) {
    return fail(`${file}: ${error.message}`);
  }
}

function options() {
  const text = {type: 'string'};
  try {
    return parseArgs({allowPositionals: true, options: {like: text, json: text, threads: text, seconds: text}});
  } catch (error) {
    return fail(`${error.message}\n${USAGE}`);
  }
}

function library() {
  try {
    return require('onnxruntime-node');
  } catch {
    console.error('skipped: onnxruntime-node not found; `npm install onnxruntime-node` and set NODE_PATH to its folder');
    return process.exit(0);
  }
}

async function main() {
  const {values, positionals} = options();
  if (positionals.length === 0 && !values.like) fail(`NAME or --like must be given, got neither\n${USAGE}`);
  const models = require('./ort_models.js');
  const ours = values.like ? readJson(values.like) : undefined;
  const cases = selected(positionals, ours, models.kinds);
  const threads = positive('--threads', values.threads ?? ours?.machine?.threads ?? os.availableParallelism());
  const seconds = positive('--seconds', values.seconds ?? 0.4);
  const ort = library();
  const done = [];
  for (const {name, flops, bytes, intensity} of cases) {
    const times = await measure(ort, models, parse(name, models.kinds), threads, seconds);
    done.push({name, by: 'ort', threads, dtype: 'float32', flops, bytes, intensity, ...times});
    console.error(`${name}  ${times.failure ?? `${(1e3 * times.best_s).toPrecision(4)} ms`}`);
  }
  const json = `{"machine":{"onnxruntime":${JSON.stringify(ort.env.versions.node)}},"cases":[\n` +
    `${done.map((each) => JSON.stringify(each)).join(',\n')}\n],"bandwidth":[]}\n`;
  if (values.json) write(values.json, json);
  else process.stdout.write(json);
  if (done.some((each) => each.failure)) process.exitCode = 2;
}

main().catch((error) => fail(error.message));
