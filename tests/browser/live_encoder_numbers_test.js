'use strict';
// The library as WebAssembly, under Node, against our programs with TESSERA_ISA=baseline:
//
//   node live_encoder_numbers_test.js EXAMPLES [FOLDER...]      also with these models

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {readNpy} = require('./arrays.js');
const {run} = require('./harness.js');

const FILE = path.join(process.env.TESSERA_WASM || path.join(__dirname, '../../build/wasm/examples'), 'live_encoder.js');
const GOLDEN = path.join(__dirname, '../golden/folders');
const MODELS = ['albert', 'bert', 'bert_old', 'distilbert', 'electra', 'gte', 'modernbert', 'mpnet', 'nomic_bert', 'roberta', 'sentence', 'xlm_roberta'];
const TEXTS = ['the cat sat on a mat.', 'How many people live in Paris?', 'x', 'caf\u00e9 \u65e5\u672c \u{1f600}', 'river '.repeat(60)];
const TEXT = 'the cat sat on the mat';
const OTHER = 'the cat runs on the mat';

/** Copies a folder into the memory of the module. */
function copyInto(FS, from, to) {
  FS.mkdir(to);
  for (const each of fs.readdirSync(from, {withFileTypes: true})) {
    const [source, target] = [path.join(from, each.name), `${to}/${each.name}`];
    if (each.isDirectory()) copyInto(FS, source, target);
    else FS.writeFile(target, fs.readFileSync(source));
  }
}

async function openModel(folder, change = () => {}) {
  const module = await require(FILE)();
  copyInto(module.FS, folder, '/model');
  change(module.FS);
  const encoder = new module.LiveEncoder();
  return {module, encoder, ...encoder.open('/model')};
}

function assertNear(actual, expected, error, what) {
  assert.strictEqual(actual.length, expected.length, what);
  const worst = actual.reduce((most, each, i) => Math.max(most, Math.abs(each - expected[i])), 0);
  assert.ok(worst <= error, `${what}: differs by ${worst}`);
  return worst;
}

const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

/** The vectors are those of `embed`. */
async function checkVectors(folder, scratch) {
  const [lines, output] = [path.join(scratch, 'lines.txt'), path.join(scratch, 'vectors.npy')];
  fs.writeFileSync(lines, TEXTS.map((text) => `${text}\n`).join(''));
  run('embed', ['--model', folder, '--output', output, lines]);
  const {shape: [, width], values} = readNpy(output);
  const {encoder, module} = await openModel(folder);
  const worst = TEXTS.map((text, i) =>
    assertNear(encoder.vector(text), values.slice(i * width, (i + 1) * width), 0, `${folder}: ${text}`));
  const start = performance.now();
  encoder.vector('the quick old cat sat on a mat.');
  const ms = performance.now() - start;
  console.log(`${path.basename(folder)}: differs by ${Math.max(...worst)}; ${ms.toFixed(1)} ms, ${module.memory() / 1e6} MB`);
}

/** The weights are those of an attention page. */
async function checkWeights(folder, scratch) {
  const [lines, page] = [path.join(scratch, 'line.txt'), path.join(scratch, 'page.html')];
  fs.writeFileSync(lines, `${TEXT}\n`);
  run('embed', ['--model', folder, '--attention', page, lines]);
  const data = JSON.parse(fs.readFileSync(page, 'utf8').match(/id="attention-data">([^<]*)</)[1]);
  assert.strictEqual(data.encoding, 'float32');
  const wanted = data.texts[0].weights.flat().flatMap((map) => {
    const bytes = Buffer.from(map, 'base64');
    return [...Array(bytes.length / 4).keys()].map((i) => bytes.readFloatLE(4 * i));
  });
  const {encoder} = await openModel(folder);
  const {tokens, vector, weights} = encoder.look(TEXT);
  assertNear([...weights], wanted, 1e-6, 'weights');
  assertNear(vector, encoder.vector(TEXT), 0, 'the vector with and without weights');
  assert.deepStrictEqual(tokens, ['[CLS]', 'the', 'cat', 'sat', 'on', 'the', 'mat', '[SEP]']);
}

/** A head that is switched off changes a similarity as `explain` says. */
async function checkHeads(folder) {
  const printed = run('explain', ['--model', folder, '--text', TEXT, '--with', OTHER]);
  const drops = [...printed.split('the second text')[0].matchAll(/^(\S+)\tlayer (\d+) head (\d+)$/gm)];
  assert.ok(drops.length >= 3, printed);
  const {encoder} = await openModel(folder);
  const other = encoder.vector(OTHER);
  const whole = encoder.vector(TEXT);
  for (const [, drop, layer, head] of drops) {
    encoder.turn(Number(layer), Number(head), false);
    const without = cosine(encoder.vector(TEXT), other);
    assert.ok(Math.abs(cosine(whole, other) - without - Number(drop)) < 6e-5, `layer ${layer} head ${head}: ${drop}`);
    encoder.turn(Number(layer), Number(head), true);
  }
  assertNear(encoder.vector(TEXT), whole, 0, 'all heads are on again');
}

/** With the pooling of [CLS], its vector behind the last layer is all that counts. */
async function checkPatching(folder) {
  const {encoder, layers} = await openModel(folder, (FS) => FS.writeFile('/model/1_Pooling/config.json',
    JSON.stringify({word_embedding_dimension: 12, pooling_mode_cls_token: true, pooling_mode_mean_tokens: false})));
  for (const isOn of [true, false]) {
    encoder.turn(0, 1, isOn);
    const target = encoder.vector(OTHER);
    const {tokens, vector} = encoder.look(TEXT);
    const shares = [];
    const scores = encoder.patch(TEXT, OTHER, target, (share) => shares.push(share));
    const last = scores.slice((layers - 1) * tokens.length);
    assert.ok(Math.abs(last[0] - 1) < 1e-6, `[CLS]: ${last[0]}`);
    const before = cosine(vector, target);
    assert.ok(before < 1 - 1e-4, 'the texts differ');
    last.slice(1).forEach((score) => assert.ok(Math.abs(score - before) < 1e-6, `${score}, not ${before}`));
    assert.ok(scores.slice(0, tokens.length).some((score) => Math.abs(score - before) > 1e-6), 'layer 0 counts');
    assert.strictEqual(shares.length, scores.length + 2);
    assert.ok(shares.every((share) => share >= 0 && share < 1));
  }
  assert.throws(() => encoder.patch(TEXT, 'x', encoder.vector('x'), () => {}), /both texts must have 3 tokens/);
}

async function checkErrors() {
  await assert.rejects(openModel(path.join(GOLDEN, 'static')), /must have attention, got static embeddings/);
  await assert.rejects(openModel(path.join(GOLDEN, 'sentence', '1_Pooling')), /config.json/);
}

async function main() {
  if (!fs.existsSync(FILE)) {
    console.log(`skipped: ${FILE} is not there: cmake --workflow --preset wasm`);
    return;
  }
  process.env.TESSERA_ISA = 'baseline';
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-wasm-'));
  try {
    const folders = [...MODELS.map((name) => path.join(GOLDEN, name)), ...process.argv.slice(3)];
    for (const folder of folders) await checkVectors(folder, scratch);
    const sentence = path.join(GOLDEN, 'sentence');
    await checkWeights(sentence, scratch);
    await checkHeads(sentence);
    await checkPatching(sentence);
    await checkErrors();
  } finally {
    fs.rmSync(scratch, {recursive: true});
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
