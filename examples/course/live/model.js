'use strict';
// The model: an encoder of one layer and one head that has learned to write words of 12 letters backwards.
//
//   const trace = forward(parameters, [19, 17, 0, 13], new Set(['head']));
//   at(trace.weights, 0, 3);     // how much of its output place 0 takes from place 3
//
// Numbers are float64, weights are the float32 numbers that training ended with. The paper is Vaswani et al.,
// "Attention Is All You Need", 2017. Its layers are norm(x + f(x)); this one is x + f(norm(x)), which trains
// more easily: Xiong et al., "On Layer Normalization in the Transformer Architecture", 2020.

// ---- matrices ----

/** The matrix whose element (i, j) is f(i, j). A vector is a matrix of one row. */
function matrix(rows, columns, f) {
  const values = new Float64Array(rows * columns);
  for (let i = 0; i < rows; ++i) {
    for (let j = 0; j < columns; ++j) values[i * columns + j] = f(i, j);
  }
  return {rows, columns, values};
}

const at = (m, i, j) => m.values[i * m.columns + j];
const zeros = (rows, columns) => matrix(rows, columns, () => 0);
const rowsOf = (m, begin, end) => matrix(end - begin, m.columns, (i, j) => at(m, begin + i, j));
const columnsOf = (m, begin, end) => matrix(m.rows, end - begin, (i, j) => at(m, i, begin + j));

/** f(0) + f(1) + ... + f(count - 1). */
function sum(count, f) {
  let total = 0;
  for (let k = 0; k < count; ++k) total += f(k);
  return total;
}

const add = (a, b) => matrix(a.rows, a.columns, (i, j) => at(a, i, j) + at(b, i, j));
/** a b^T: the products of the rows of a with the rows of b. */
const productOfRows = (a, b) => matrix(a.rows, b.rows, (i, j) => sum(a.columns, (k) => at(a, i, k) * at(b, j, k)));
const product = (a, b) => matrix(a.rows, b.columns, (i, j) => sum(a.columns, (k) => at(a, i, k) * at(b, k, j)));

// ---- the parts of a layer ----

/** x W^T + b. W has a row for each output. */
const linear = (x, {weight, bias}) =>
    matrix(x.rows, weight.rows, (i, j) => at(bias, 0, j) + sum(x.columns, (k) => at(x, i, k) * at(weight, j, k)));

/** Mean and standard deviation of row i; 0.00001 keeps the deviation above 0. */
function moments(x, i) {
  const mean = sum(x.columns, (k) => at(x, i, k)) / x.columns;
  const variance = sum(x.columns, (k) => (at(x, i, k) - mean) ** 2) / x.columns;
  return {mean, deviation: Math.sqrt(variance + 1e-5)};
}

/** Each row with mean 0 and deviation 1, then scaled and shifted. Ba et al., "Layer Normalization", 2016. */
function layerNorm(x, {weight, bias}) {
  const rows = Array.from({length: x.rows}, (_, i) => moments(x, i));
  return matrix(x.rows, x.columns, (i, j) =>
    (at(x, i, j) - rows[i].mean) / rows[i].deviation * at(weight, 0, j) + at(bias, 0, j));
}

/** exp(x) over its sum in each row. Subtracting the largest changes nothing, and no exp overflows. */
function softmax(x) {
  const largest = Array.from({length: x.rows}, (_, i) => Math.max(...rowsOf(x, i, i + 1).values));
  const power = matrix(x.rows, x.columns, (i, j) => Math.exp(at(x, i, j) - largest[i]));
  return matrix(x.rows, x.columns, (i, j) => at(power, i, j) / sum(x.columns, (k) => at(power, i, k)));
}

/** The error function. Abramowitz and Stegun, 1964, 7.1.6: a series whose terms have one sign. */
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);  // nearer to 1 than float64 can say
  let term = x;
  let total = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(total); ++n) {
    term *= 2 * x * x / (2 * n + 1);
    total += term;
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * total;
}

/** The share of a normal distribution below x. */
const normalShare = (x) => (1 + erf(x / Math.SQRT2)) / 2;

/** GELU, x times that share: Hendrycks and Gimpel, 2016. */
const gelu = (x) => matrix(x.rows, x.columns, (i, j) => at(x, i, j) * normalShare(at(x, i, j)));

/** The angle whose sine is in an even column of the table, and whose cosine is in the next: section 3.5. */
const angle = (place, column, width) => place / 10000 ** (2 * Math.floor(column / 2) / width);
const sinusoids = (places, width) => matrix(places, width, (place, column) =>
  column % 2 === 0 ? Math.sin(angle(place, column, width)) : Math.cos(angle(place, column, width)));

// ---- the parameters ----

/** float32 numbers from base64, the lowest byte first. */
function decode(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({length: bytes.length / 4}, (_, i) => view.getFloat32(4 * i, true));
}

/** The matrices of a model by their names in the C++ library, such as encoder.layers.0.linear1.weight. */
function readParameters({shapes, float32}) {
  const all = decode(float32);
  const parameters = {};
  let begin = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape;
    parameters[name] = {rows, columns, values: all.slice(begin, begin + rows * columns)};
    begin += rows * columns;
  }
  return parameters;
}

const LAYER = 'encoder.layers.0.';
const affine = (name) => ({weight: `${name}.weight`, bias: `${name}.bias`});
/** W_Q, W_K and W_V are thirds of one matrix. */
const joined = {weight: `${LAYER}self_attn.in_proj_weight`, bias: `${LAYER}self_attn.in_proj_bias`};
const projection = (third) => ({...joined, third});

/** The parameters of each part of the model. */
const PARTS = {
  embedding: {weight: 'embeddings.word_embeddings.weight'},
  norm1: affine(`${LAYER}norm1`),
  query: projection(0), key: projection(1), value: projection(2),
  output: affine(`${LAYER}self_attn.out_proj`),
  norm2: affine(`${LAYER}norm2`),
  linear1: affine(`${LAYER}linear1`), linear2: affine(`${LAYER}linear2`),
  norm: affine('encoder.norm'),
  classifier: affine('classifier'),
};

/** The weight and bias of a part. */
function partOf(parameters, name) {
  const {weight: weightName, bias: biasName, third} = PARTS[name];
  const [weight, bias] = [parameters[weightName], parameters[biasName]];
  if (third === undefined) return {weight, bias};
  const [begin, end] = [third * weight.columns, (third + 1) * weight.columns];
  return {weight: rowsOf(weight, begin, end), bias: columnsOf(bias, begin, end)};
}

// ---- the forward pass ----

/**
 * Every step from the numbers of letters, a is 0, to probabilities: a matrix each, with one row for each letter.
 * `off` names what is switched off: positions, head, residual1, feedForward, residual2.
 */
function forward(parameters, letters, off = new Set()) {
  const part = (name) => partOf(parameters, name);
  const table = part('embedding').weight;
  const width = table.columns;
  const unless = (name, m) => off.has(name) ? zeros(m.rows, m.columns) : m;
  const t = {};

  // 3.4, 3.5: what the letter is, and where it is
  t.embedding = matrix(letters.length, width, (i, j) => at(table, letters[i], j));
  t.positions = unless('positions', sinusoids(letters.length, width));
  t.x = matrix(letters.length, width, (i, j) => Math.sqrt(width) * at(t.embedding, i, j) + at(t.positions, i, j));

  // 3.2: attention
  t.norm1 = layerNorm(t.x, part('norm1'));
  t.q = linear(t.norm1, part('query'));
  t.k = linear(t.norm1, part('key'));
  t.v = linear(t.norm1, part('value'));
  const products = productOfRows(t.q, t.k);
  t.scores = matrix(products.rows, products.columns, (i, j) => at(products, i, j) / Math.sqrt(width));
  t.weights = softmax(t.scores);
  t.head = unless('head', product(t.weights, t.v));
  t.attention = linear(t.head, part('output'));
  t.sum1 = add(unless('residual1', t.x), t.attention);

  // 3.3: the feed-forward network
  t.norm2 = layerNorm(t.sum1, part('norm2'));
  t.hidden = linear(t.norm2, part('linear1'));
  t.activation = gelu(t.hidden);
  t.feedForward = unless('feedForward', linear(t.activation, part('linear2')));
  t.sum2 = add(unless('residual2', t.sum1), t.feedForward);

  // 3.4: which letter
  t.norm = layerNorm(t.sum2, part('norm'));
  t.logits = linear(t.norm, part('classifier'));
  t.probabilities = softmax(t.logits);
  return t;
}

/** The column of the largest number of each row. */
const argmax = (m) => Array.from({length: m.rows}, (_, i) => {
  const row = rowsOf(m, i, i + 1).values;
  return row.indexOf(Math.max(...row));
});
