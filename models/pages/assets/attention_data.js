'use strict';
// The numbers of the page: the weights of each text, layer and head, and their means.

const MEAN = -1;  // in the place of a layer's or a head's number: the mean of all
const data = JSON.parse(document.getElementById('attention-data').textContent);

const byId = (id) => document.getElementById(id);

function make(name, properties = {}, children = []) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Fills an element unless it has the children of this name: a rebuilt button would lose the keyboard's focus. */
function refill(element, name, children) {
  if (element.dataset.filled === String(name)) return;
  element.dataset.filled = name;
  element.replaceChildren(...children());
}

/** Bytes from base64, as RFC 4648 has it. */
function bytesOf(base64) {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** float32, four bytes each, the lowest first. */
function exactWeights(bytes) {
  const view = new DataView(bytes.buffer);
  return Float32Array.from({length: bytes.length / 4}, (_, i) => view.getFloat32(4 * i, true));
}

/** The upper 24 of the 30 bits that a float32 in [0, 2) has; the largest number is NaN. */
function roundedWeights(bytes) {
  const bits = new Uint32Array(bytes.length / 3);
  for (let i = 0; i < bits.length; ++i) {
    const upper = bytes[3 * i] | bytes[3 * i + 1] << 8 | bytes[3 * i + 2] << 16;
    bits[i] = upper === 0xffffff ? 0x7fc00000 : upper << 6;
  }
  return new Float32Array(bits.buffer);
}

const decode = data.encoding === 'float32' ? exactWeights : roundedWeights;

const layerCount = data.texts[0].weights.length;
const headsOfLayer = (layer) => data.texts[0].weights[layer].length;
const headCount = Math.max(...data.texts[0].weights.map((heads) => heads.length));
/** The numbers that layers and heads have in the model. */
const layerNumber = (layer) => data.layers.length ? data.layers[layer] : layer;
const headNumber = (head) => data.heads.length ? data.heads[head] : head;

/** The layers and heads of one map: one of each, or all that a mean is taken over. */
function partsOf(layer, head) {
  const parts = [];
  for (let l = 0; l < layerCount; ++l) {
    if (layer !== MEAN && layer !== l) continue;
    for (let h = 0; h < headsOfLayer(l); ++h) {
      if (head === MEAN || head === h) parts.push([l, h]);
    }
  }
  return parts;
}

function meanOf(maps) {
  const sums = new Float64Array(maps[0].length);
  for (const map of maps) {
    for (let i = 0; i < sums.length; ++i) sums[i] += map[i];
  }
  return Float32Array.from(sums, (sum) => sum / maps.length);
}

/** The kinds of maps: weights; weights times the norms of what heads read; the flow through all layers so far. */
const hasNorms = data.texts.every((text) => text.norms.length > 0);
const hasRollout = data.layers.length === 0 && data.heads.length === 0;

/** Weights times norms, each row as shares of its sum. */
function normWeighted(map, norms) {
  const size = norms.length;
  const result = new Float32Array(map.length);
  for (let i = 0; i < size; ++i) {
    let sum = 0;
    for (let j = 0; j < size; ++j) sum += map[i * size + j] * norms[j];
    for (let j = 0; j < size && sum !== 0; ++j) result[i * size + j] = map[i * size + j] * norms[j] / sum;
  }
  return result;
}

/** The product of (mean of the heads + I) / 2 from the first layer to this one: Abnar and Zuidema, 2020. */
function rollout(text, layer) {
  const size = data.texts[text].tokens.length;
  const mean = mapOf(text, layer, MEAN, 'weights');
  const before = layer === 0 ? null : mapOf(text, layer - 1, MEAN, 'rollout');
  const result = new Float32Array(mean.length);
  for (let i = 0; i < size; ++i) {
    for (let k = 0; k < size; ++k) {
      const share = (mean[i * size + k] + (i === k ? 1 : 0)) / 2;
      if (before === null) result[i * size + k] = share;
      else for (let j = 0; j < size; ++j) result[i * size + j] += share * before[k * size + j];
    }
  }
  return result;
}

const known = new Map();

/** The map of a text's layer and head, row by row, T by T; null where the layer has no such head. */
function mapOf(text, layer, head, show) {
  const [l, h] = show === 'rollout' ? [layer === MEAN ? layerCount - 1 : layer, MEAN] : [layer, head];
  const key = `${text} ${l} ${h} ${show}`;
  if (!known.has(key)) known.set(key, madeMap(text, l, h, show));
  return known.get(key);
}

function madeMap(text, layer, head, show) {
  if (show === 'rollout') return rollout(text, layer);
  if (layer === MEAN || head === MEAN) {
    const maps = partsOf(layer, head).map(([l, h]) => mapOf(text, l, h, show));
    return maps.length === 0 ? null : maps.length === 1 ? maps[0] : meanOf(maps);
  }
  if (partsOf(layer, head).length === 0) return null;
  if (show === 'norms') return normWeighted(mapOf(text, layer, head, 'weights'), data.texts[text].norms[layer][head]);
  return decode(bytesOf(data.texts[text].weights[layer][head]));
}

/** A number as it is shown: four significant digits, and '0' only for 0. */
function shown(number) {
  if (number === 0) return '0';
  return Math.abs(number) >= 0.0001 ? number.toPrecision(4) : number.toExponential(3);
}

function nameOf(layer, head, show) {
  if (show === 'rollout') return `rollout to layer ${layer === MEAN ? layerCount - 1 : layer}`;
  const layerName = layer === MEAN ? 'mean of layers' : `layer ${layerNumber(layer)}`;
  const headName = head === MEAN ? 'mean of heads' : `head ${headNumber(head)}`;
  return `${layerName}, ${headName}${show === 'norms' ? ', times norms' : ''}`;
}
