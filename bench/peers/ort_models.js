'use strict';
// The cases that ONNX Runtime has: each as a model, the shapes of its inputs and of its result, with the fused
// operators that its own optimiser would put in.

const {model, node, weight} = require('./onnx.js');

const fused = (type, inputs, output, attributes) => node(type, inputs, output, attributes, 'com.microsoft');

/** Uniform numbers in [-bound, bound). */
function uniform(shape, bound) {
  const values = new Float32Array(shape.reduce((a, b) => a * b, 1));
  for (let i = 0; i < values.length; ++i) values[i] = (2 * Math.random() - 1) * bound;
  return values;
}

const random = (name, ...shape) => weight(name, shape, uniform(shape, 1 / Math.sqrt(shape[0])));
const ones = (name, size) => weight(name, [size], new Float32Array(size).fill(1));
const zeros = (name, size) => weight(name, [size], new Float32Array(size));

function attention({B = 1, H = 1, T, d}) {
  const shape = [B, T, H * d];
  return {nodes: [fused('MultiHeadAttention', ['q', 'k', 'v'], 'y', {num_heads: H})], weights: [],
    inputs: {q: shape, k: shape, v: shape}, output: shape};
}

function linear({M, K, N, gelu = 0}) {
  const last = gelu ? fused('BiasGelu', ['xw', 'b'], 'y') : node('Add', ['xw', 'b'], 'y');
  return {nodes: [node('MatMul', ['x', 'w'], 'xw'), last], weights: [random('w', K, N), random('b', N)],
    inputs: {x: [M, K]}, output: [M, N]};
}

/** The weight in int8 with one scale for each column; the input is rounded in each call (dynamic quantisation). */
function linearInt8({M, K, N}) {
  const codes = Int8Array.from(uniform([K, N], 128), Math.trunc);
  const weights = [weight('w', [K, N], codes), weight('scales', [N], uniform([N], 0.01)),
    weight('zeros', [N], new Int8Array(N)), random('b', N)];
  return {nodes: [fused('DynamicQuantizeMatMul', ['x', 'w', 'scales', 'zeros', 'b'], 'y')], weights,
    inputs: {x: [M, K]}, output: [M, N]};
}

function softmax({rows, cols}) {
  return {nodes: [node('Softmax', ['x'], 'y', {axis: 1})], weights: [], inputs: {x: [rows, cols]}, output: [rows, cols]};
}

function layerNorm({rows, cols}) {
  return {nodes: [node('LayerNormalization', ['x', 'g', 'b'], 'y', {axis: 1})],
    weights: [ones('g', cols), zeros('b', cols)], inputs: {x: [rows, cols]}, output: [rows, cols]};
}

/** One post-norm layer from `x` to `y`; `p` begins the names of what is inside. */
function layer(p, x, y, {D, H, F}) {
  const norm = (inputs, output) => fused('SkipLayerNormalization', inputs, output, {epsilon: 1e-5});
  return {
    nodes: [
      fused('Attention', [x, p + 'w_qkv', p + 'b_qkv'], p + 'heads', {num_heads: H}),
      node('MatMul', [p + 'heads', p + 'w_out'], p + 'attended'),
      norm([x, p + 'attended', p + 'g1', p + 'b1', p + 'b_out'], p + 'middle'),
      node('MatMul', [p + 'middle', p + 'w_up'], p + 'up'),
      fused('BiasGelu', [p + 'up', p + 'b_up'], p + 'hidden'),
      node('MatMul', [p + 'hidden', p + 'w_down'], p + 'down'),
      norm([p + 'middle', p + 'down', p + 'g2', p + 'b2', p + 'b_down'], y),
    ],
    weights: [
      random(p + 'w_qkv', D, 3 * D), random(p + 'b_qkv', 3 * D), random(p + 'w_out', D, D), random(p + 'b_out', D),
      random(p + 'w_up', D, F), random(p + 'b_up', F), random(p + 'w_down', F, D), random(p + 'b_down', D),
      ones(p + 'g1', D), zeros(p + 'b1', D), ones(p + 'g2', D), zeros(p + 'b2', D),
    ],
  };
}

function encoder({L, B = 1, T, ...sizes}) {
  const layers = Array.from({length: L}, (_, i) =>
    layer(`l${i}_`, i === 0 ? 'x' : `l${i - 1}_y`, i === L - 1 ? 'y' : `l${i}_y`, sizes));
  const shape = [B, T, sizes.D];
  return {nodes: layers.flatMap((each) => each.nodes), weights: layers.flatMap((each) => each.weights),
    inputs: {x: shape}, output: shape};
}

/** By kind: the parameters that a name must and may have, and what makes the model. */
const kinds = {
  attention: {must: ['T', 'd'], may: ['B', 'H'], make: attention},
  linear: {must: ['M', 'K', 'N'], may: ['gelu'], make: linear},
  linear_int8: {must: ['M', 'K', 'N'], may: [], make: linearInt8},
  softmax: {must: ['rows', 'cols'], may: [], make: softmax},
  layer_norm: {must: ['rows', 'cols'], may: [], make: layerNorm},
  encoder: {must: ['L', 'D', 'H', 'F', 'T'], may: ['B'], make: encoder},
};

/** The model of a case as bytes, its inputs' shapes and its result's. */
function modelOf(kind, sizes) {
  const {nodes, weights, inputs, output} = kinds[kind].make(sizes);
  return {bytes: model(nodes, weights, inputs, {y: output}), inputs, output};
}

module.exports = {kinds, modelOf, uniform};
