'use strict';
// What the reader types goes to the encoder, and its numbers go to the page.

const MOST_TOKENS = 64;  // in a map
const MOST_LINES = 20;   // in the ranking

const $ = (id) => document.getElementById(id);
const say = (id, text) => { $(id).textContent = text; };
const progressOf = (id) => (share) => {
  $(id).value = share;
  $(id).hidden = share >= 1;
};
const range = (count) => [...Array(count).keys()];

let about;     // of the model: layers, heads, width, max_length
let off;       // the heads that are switched off: [[layer, head], ...]
let seen;      // of the text: text, tokens, vector, weights
let moves;     // how far each head moves the vector, or NaN
let vectors;   // of lines, by the heads that are off and the line
let patched;   // the similarities in the last map
let answered;  // the milliseconds and bytes of the last encoding

/** Shows an error, or none. */
function showError(error) {
  $('error').hidden = !error;
  say('error', error ? error.message.replaceAll('/model/', '') : '');
}

const started = (work) => newest(work, showError);

// The model.

/** Throws if the files are not those of a sentence encoder. */
async function checkFolder(files) {
  const named = (wanted) => files.find(({name}) => name === wanted);
  if (named('modules.json')) return;
  if (!named('config.json')) {
    throw new Error('This folder has no config.json. Choose the folder of one model, which has config.json and model.safetensors.');
  }
  const {architectures: [kind] = []} = await named('config.json').data.text().then(JSON.parse).catch(() => ({}));
  if (/For(SequenceClassification|TokenClassification|QuestionAnswering)$/.test(kind)) {
    throw new Error(`This model is a ${kind}: it gives classes or answers, not vectors of sentences. Choose a sentence encoder, such as all-MiniLM-L6-v2.`);
  }
}

const openFolder = started(async () => {
  const chosen = [...$('folder').files];
  if (chosen.length === 0) return;
  $('work').hidden = true;
  showError();
  say('status', 'Reading the model ...');
  try {
    const files = chosen.map((file) => ({name: file.webkitRelativePath.split('/').slice(1).join('/'), data: file}));
    await checkFolder(files);
    restart();
    const {result, ms} = await call('open', [files], progressOf('progress'));
    about = result;
    const folder = chosen[0].webkitRelativePath.split('/')[0];
    say('status', `${folder}: ${about.layers} layers of ${about.heads} heads, vectors of ${about.width} numbers. Opened in ${(ms / 1000).toFixed(1)} s.`);
  } catch (error) {
    say('status', 'The folder was not opened.');
    throw error;
  } finally {
    progressOf('progress')(1);
  }
  [off, seen, vectors] = [[], undefined, new Map()];
  [headMap.row, headMap.column] = [about.layers - 1, about.heads - 1];
  $('work').hidden = false;
  changeModel();
});

// Heads.

const isOff = (layer, head) => off.some(([l, h]) => l === layer && h === head);
const otherwise = (layer, head) =>
  (isOff(layer, head) ? off.filter(([l, h]) => l !== layer || h !== head) : [...off, [layer, head]]);

/** 1 - cos of the angle between the text's vectors with and without a head. */
async function moveOf(layer, head) {
  const {result} = await call('vector', [seen.text, otherwise(layer, head)]);
  return Math.max(0, 1 - cosine(seen.vector, result));
}

const showMove = started(async (isStale) => {
  const {row: layer, column: head} = headMap;
  const of = seen;
  const move = await moveOf(layer, head);
  if (isStale() || of !== seen) return;
  moves[layer * about.heads + head] = move;
  say('move', `Layer ${layer}, head ${head} is ${isOff(layer, head) ? 'off' : 'on'}. This head moves the vector by 1 \u2212 cos = ${move.toPrecision(3)}.`);
  drawHeads();
});

const measureAll = started(async () => {
  const of = seen;
  const report = progressOf('measure-progress');
  try {
    for (let i = 0; i < moves.length && of === seen; ++i) {
      report(i / moves.length);
      const move = await moveOf(Math.floor(i / about.heads), i % about.heads);
      if (of === seen) moves[i] = move;
      drawHeads();
    }
  } finally {
    report(1);
  }
});

function drawHeads() {
  const largest = Math.max(1e-12, ...moves.filter((move) => move >= 0));
  headMap.draw({
    rows: range(about.layers).map(String), columns: range(about.heads).map(String), values: moves,
    shade: (move) => move / largest,
    style: (layer, head) => (isOff(layer, head) ? 'off' : ''),
  });
  say('toggle', isOff(headMap.row, headMap.column) ? 'Switch this head on' : 'Switch this head off');
  $('all-on').disabled = off.length === 0;
}

const headMap = makeMap($('heads'), {
  show() {
    drawHeads();
    drawAttention();
    showMove();
  },
  press: () => switchTo(otherwise(headMap.row, headMap.column)),
});

function switchTo(heads) {
  off = heads;
  changeModel();
}

/** After another model or other heads: all numbers are computed again. */
function changeModel() {
  showText();
  encodeLines();
}

// The text.

const showText = started(async (isStale) => {
  const text = $('text').value;
  const heads = off;
  const {result, ms, memory} = await call('look', [text, heads]);
  if (isStale() || heads !== off) return;
  showError();
  seen = {text, ...result};
  answered = {ms, memory};
  moves = Array(about.layers * about.heads).fill(NaN);
  $('patched').hidden = true;
  drawText();
  drawHeads();
  drawAttention();
  drawRanking();
  showMove();
  checkOther();
});

function drawText() {
  const {tokens} = seen;
  $('tokens').replaceChildren(...tokens.map((token) => element('span', {textContent: token})));
  const cut = tokens.length >= about.max_length ? ` The model reads at most ${about.max_length} tokens: the rest of the text is left out.` : '';
  const shown = tokens.length > MOST_TOKENS ? ` The map shows the first ${MOST_TOKENS} tokens.` : '';
  say('stats', `${tokens.length} tokens, encoded in ${answered.ms.toFixed(answered.ms < 10 ? 1 : 0)} ms. Memory: ${Math.round(answered.memory / 1e6)} MB.${cut}${shown}`);
}

const weight = (row, column) => {
  const size = seen.tokens.length;
  return seen.weights[((headMap.row * about.heads + headMap.column) * size + row) * size + column];
};

function drawAttention() {
  const names = seen.tokens.slice(0, MOST_TOKENS);
  say('attention-heading', `Attention of layer ${headMap.row}, head ${headMap.column}`);
  const values = names.flatMap((_, i) => names.map((_, j) => weight(i, j)));
  attentionMap.draw({rows: names, columns: names, values, shade: Math.sqrt});
  readAttention();
}

function readAttention() {
  const {row, column} = attentionMap;
  say('attention-readout', `\u201c${seen.tokens[row]}\u201d gives \u201c${seen.tokens[column]}\u201d ${(100 * weight(row, column)).toFixed(1)} % of its attention.`);
}

const attentionMap = makeMap($('attention'), {show: readAttention, follows: true});

// Lines.

const linesOf = () => [...new Set($('lines').value.split('\n').map((line) => line.trim()).filter(Boolean))];
const keyOf = (line) => `${JSON.stringify(off)} ${line}`;

const encodeLines = started(async (isStale) => {
  const lines = linesOf();
  const missing = lines.filter((line) => !vectors.has(keyOf(line)));
  const report = progressOf('lines-progress');
  for (const [i, line] of missing.entries()) {
    report(i / missing.length);
    say('lines-note', `${lines.length - missing.length + i} of ${lines.length} lines are encoded`);
    const key = keyOf(line);
    vectors.set(key, (await call('vector', [line, off])).result);
    if (isStale()) return;
  }
  report(1);
  say('lines-note', `${lines.length} lines are encoded`);
  drawRanking();
});

function drawRanking() {
  if (!seen) return;
  const ranked = linesOf().filter((line) => vectors.has(keyOf(line)))
    .map((line) => ({line, similarity: cosine(seen.vector, vectors.get(keyOf(line)))}))
    .sort((a, b) => b.similarity - a.similarity).slice(0, MOST_LINES);
  $('ranking').tBodies[0].replaceChildren(...ranked.map(({line, similarity}) => {
    const bar = element('span', {className: 'bar'});
    bar.style.setProperty('--share', String(Math.max(0, similarity)));
    return element('tr', {}, [element('td', {textContent: similarity.toFixed(3)}), element('td', {}, [bar]), element('td', {textContent: line})]);
  }));
}

// Patching.

/** Shows whether the second text has as many tokens as the first. */
const checkOther = started(async (isStale) => {
  const {result: {tokens}} = await call('look', [$('other').value, off]);
  if (isStale()) return;
  const wanted = seen.tokens.length;
  $('patch').disabled = tokens.length !== wanted || wanted > MOST_TOKENS;
  say('other-note', wanted > MOST_TOKENS ? `Your text must have at most ${MOST_TOKENS} tokens, it has ${wanted}.` :
    tokens.length === wanted ? `Both texts have ${wanted} tokens.` :
      `The second text must have ${wanted} tokens as your text, it has ${tokens.length}.`);
});

const patch = started(async (isStale) => {
  const of = seen;
  const other = $('other').value;
  const report = progressOf('patch-progress');
  report(0);
  try {
    const {result: target} = await call('vector', [other, off]);
    const {result, ms} = await call('patch', [of.text, other, target, off], report);
    if (isStale() || of !== seen || other !== $('other').value) return;
    patched = result;
    $('patched').hidden = false;
    const without = cosine(of.vector, target);
    patchMap.draw({
      rows: range(about.layers).map((layer) => `layer ${layer}`), columns: of.tokens, values: patched,
      shade: (value) => (value - without) / (1 - without), text: (value) => value.toFixed(3),
    });
    say('patch-readout', `Without replacement the similarity is ${without.toFixed(3)}: no shade. The darkest shade is 1. ${patched.length} runs took ${(ms / 1000).toFixed(1)} s.`);
  } finally {
    report(1);
  }
});

const patchMap = makeMap($('patch-map'), {
  show: (row, column) => say('patch-readout',
    `With the vector of \u201c${seen.tokens[column]}\u201d after layer ${row} replaced, the similarity is ${patched[row * seen.tokens.length + column].toFixed(4)}.`),
  follows: true,
});

$('folder').addEventListener('change', openFolder);
$('text').addEventListener('input', showText);
$('lines').addEventListener('input', encodeLines);
$('other').addEventListener('input', () => {
  $('patched').hidden = true;
  checkOther();
});
$('toggle').addEventListener('click', () => switchTo(otherwise(headMap.row, headMap.column)));
$('all-on').addEventListener('click', () => switchTo([]));
$('measure').addEventListener('click', measureAll);
$('patch').addEventListener('click', patch);
