'use strict';
// The steps of the forward pass as a reader meets them, and the arithmetic of one number of each.
//
//   const {pieces, products, value} = arithmetic(model, 'scores', 2, 5);
//
// `model` is {trace, parameters, letters, off}. `pieces` are texts and operands, which make one line. An
// operand is a number of a step or a parameter: {step or parameter, row, column, value, name}. `products` are
// pairs of operands, whose sum is a piece of that line. `value` is computed here again, from the operands.

/** A number with four significant digits; small whole numbers as they are. */
function shown(value) {
  const size = Math.abs(value);
  const digits = Number.isInteger(value) && size < 1e4 ? String(value) :
      size >= 1e-4 ? value.toPrecision(4) : value.toExponential(2);
  return digits.replaceAll('-', '−');
}

const indices = (row, column) => `[${row}, ${column}]`;

/** A number of a step. */
const ofStep = ({trace}, step, row, column) =>
  ({step, row, column, value: at(trace[step], row, column), name: `${STEPS[step].name}${indices(row, column)}`});

/** A number of a parameter: row and column count in the whole matrix, the name counts in the part. */
function ofPart({parameters}, part, kind, row, column) {
  const {third = 0, [kind]: parameter} = PARTS[part];
  const first = third * parameters[parameter].columns;
  const [weight, bias] = SYMBOLS[part];
  const name = kind === 'bias' ? `${bias}[${column}]` : `${weight}${indices(row, column)}`;
  const place = kind === 'bias' ? [0, column + third * parameters[PARTS[part].weight].columns] : [row + first, column];
  const value = at(parameters[parameter], ...place);
  return {parameter, row: place[0], column: place[1], value, name};
}

/** The symbols of a part's weight and bias. */
const SYMBOLS = {
  embedding: ['E'],
  norm1: ['γ₁', 'β₁'], norm2: ['γ₂', 'β₂'], norm: ['γ', 'β'],
  query: ['W_Q', 'b_Q'], key: ['W_K', 'b_K'], value: ['W_V', 'b_V'], output: ['W_O', 'b_O'],
  linear1: ['W₁', 'b₁'], linear2: ['W₂', 'b₂'],
  classifier: ['W_C', 'b_C'],
};

const total = (products) => sum(products.length, (k) => products[k][0].value * products[k][1].value);
const pairs = (count, f) => Array.from({length: count}, (_, k) => f(k));
const isZero = {pieces: ['switched off'], value: 0};

/** b[j] + the sum of x[i, k] W[j, k]. */
const linearOf = (x, part) => (m, i, j) => {
  const products = pairs(m.trace[x].columns, (k) => [ofStep(m, x, i, k), ofPart(m, part, 'weight', j, k)]);
  const bias = ofPart(m, part, 'bias', 0, j);
  return {pieces: [bias, ' + sum of the products ', total(products)], products, value: bias.value + total(products)};
};

const normOf = (x, part) => (m, i, j) => {
  const {mean, deviation} = moments(m.trace[x], i);
  const [value, scale, shift] = [ofStep(m, x, i, j), ofPart(m, part, 'weight', 0, j), ofPart(m, part, 'bias', 0, j)];
  scale.name = scale.name.replace('0, ', '');
  return {
    pieces: ['(', value, ' − mean ', mean, ') / deviation ', deviation, ' · ', scale, ' + ', shift],
    value: (value.value - mean) / deviation * scale.value + shift.value,
  };
};

const softmaxOf = (x) => (m, i, j) => {
  const row = pairs(m.trace[x].columns, (k) => ofStep(m, x, i, k));
  const powers = sum(row.length, (k) => Math.exp(row[k].value));
  const pieces = ['exp(', row[j], ') / ', powers, ', the sum of exp over the row'];
  return {pieces, value: Math.exp(row[j].value) / powers};
};

const sumOf = (x, f, switchName) => (m, i, j) => {
  const [before, added] = [ofStep(m, x, i, j), ofStep(m, f, i, j)];
  const isOff = m.off.has(switchName);
  return {pieces: [isOff ? 'switched off' : before, ' + ', added], value: (isOff ? 0 : before.value) + added.value};
};

/** A step that a switch sets to 0. */
const unlessOff = (switchName, f) => (m, i, j) => m.off.has(switchName) ? isZero : f(m, i, j);

/** What a step is called, its formula, what it is, its section of the paper, and the arithmetic of (i, j). */
const STEPS = {
  embedding: {
    name: 'e', formula: 'e[i] = E[letter i]', section: '3.4',
    about: 'the row of the table that is learned for the letter',
    arithmetic: (m, i, j) => {
      const entry = ofPart(m, 'embedding', 'weight', m.letters[i], j);
      return {pieces: [entry], value: entry.value};
    },
  },
  positions: {
    name: 'p', formula: 'p[i, 2c] = sin(i / 10000^(2c/D)), p[i, 2c+1] = cos(the same)', section: '3.5',
    about: 'where the letter is, as sines',
    arithmetic: unlessOff('positions', (m, i, j) => {
      const radians = angle(i, j, m.trace.positions.columns);
      const value = j % 2 === 0 ? Math.sin(radians) : Math.cos(radians);
      return {pieces: [j % 2 === 0 ? 'sin(' : 'cos(', radians, ')'], value};
    }),
  },
  x: {
    name: 'x', formula: 'x = √D e + p', section: '3.4',
    about: 'the letter and its position in one row',
    arithmetic: (m, i, j) => {
      const [e, p, scale] = [ofStep(m, 'embedding', i, j), ofStep(m, 'positions', i, j), Math.sqrt(m.trace.x.columns)];
      return {pieces: [scale, ' · ', e, ' + ', p], value: scale * e.value + p.value};
    },
  },
  norm1: {
    name: 'n', formula: 'n = norm₁(x)', section: '3.1',
    about: 'each row with mean 0 and deviation 1, then scaled and shifted',
    arithmetic: normOf('x', 'norm1'),
  },
  q: {
    name: 'q', formula: 'q = n W_Qᵀ + b_Q', section: '3.2.2',
    about: 'queries: what each position looks for',
    arithmetic: linearOf('norm1', 'query'),
  },
  k: {
    name: 'k', formula: 'k = n W_Kᵀ + b_K', section: '3.2.2',
    about: 'keys: what each position is found by',
    arithmetic: linearOf('norm1', 'key'),
  },
  v: {
    name: 'v', formula: 'v = n W_Vᵀ + b_V', section: '3.2.2',
    about: 'values: what each position contributes',
    arithmetic: linearOf('norm1', 'value'),
  },
  scores: {
    name: 's', formula: 's = q kᵀ / √d', section: '3.2.1',
    about: 'how well query i fits key j',
    arithmetic: (m, i, j) => {
      const width = m.trace.q.columns;
      const products = pairs(width, (c) => [ofStep(m, 'q', i, c), ofStep(m, 'k', j, c)]);
      const pieces = [`q[${i}] · k[${j}] / √${width} = `, total(products), ' / ', Math.sqrt(width)];
      return {pieces, products, value: total(products) / Math.sqrt(width)};
    },
  },
  weights: {
    name: 'a', formula: 'a = softmax(s)', section: '3.2.1',
    about: 'attention: the fraction of position j in what position i reads; a row adds up to 1',
    arithmetic: softmaxOf('scores'),
  },
  head: {
    name: 'h', formula: 'h = a v', section: '3.2.1',
    about: 'output of the head: values, weighted',
    arithmetic: unlessOff('head', (m, i, j) => {
      const products = pairs(m.trace.weights.columns, (k) => [ofStep(m, 'weights', i, k), ofStep(m, 'v', k, j)]);
      return {pieces: ['sum of the products'], products, value: total(products)};
    }),
  },
  attention: {
    name: 'o', formula: 'o = h W_Oᵀ + b_O', section: '3.2.2',
    about: 'output of attention',
    arithmetic: linearOf('head', 'output'),
  },
  sum1: {
    name: 'y', formula: 'y = x + o', section: '3.1',
    about: 'the first residual connection',
    arithmetic: sumOf('x', 'attention', 'residual1'),
  },
  norm2: {
    name: 'm', formula: 'm = norm₂(y)', section: '3.1',
    about: 'input of the feed-forward network',
    arithmetic: normOf('sum1', 'norm2'),
  },
  hidden: {
    name: 'u', formula: 'u = m W₁ᵀ + b₁', section: '3.3',
    about: 'its first linear layer, twice as wide',
    arithmetic: linearOf('norm2', 'linear1'),
  },
  activation: {
    name: 'g', formula: 'g = GELU(u) = u Φ(u)', section: '3.3',
    about: 'negative numbers come near 0; the paper has ReLU',
    arithmetic: (m, i, j) => {
      const u = ofStep(m, 'hidden', i, j);
      return {pieces: [u, ' · Φ = ', normalShare(u.value)], value: u.value * normalShare(u.value)};
    },
  },
  feedForward: {
    name: 'f', formula: 'f = g W₂ᵀ + b₂', section: '3.3',
    about: 'its second linear layer',
    arithmetic: unlessOff('feedForward', linearOf('activation', 'linear2')),
  },
  sum2: {
    name: 'z', formula: 'z = y + f', section: '3.1',
    about: 'the second residual connection',
    arithmetic: sumOf('sum1', 'feedForward', 'residual2'),
  },
  norm: {
    name: 'r', formula: 'r = norm(z)', section: '3.1',
    about: 'the final norm',
    arithmetic: normOf('sum2', 'norm'),
  },
  logits: {
    name: 'l', formula: 'l = r W_Cᵀ + b_C', section: '3.4',
    about: 'a score for each letter of the alphabet',
    arithmetic: linearOf('norm', 'classifier'),
  },
  probabilities: {
    name: 'P', formula: 'P = softmax(l)', section: '3.4',
    about: 'the probability of each letter',
    arithmetic: softmaxOf('logits'),
  },
};

const arithmetic = (model, step, row, column) => STEPS[step].arithmetic(model, row, column);
