'use strict';
// What the page holds: the weights of each text, layer and head as numbers, and their means.

const MEAN = -1;  // in the place of a layer's or a head's number: the mean of all
const data = JSON.parse(document.getElementById('attention-data').textContent);

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

const known = new Map();

/** The map of a text's layer and head, row by row, T by T; null where the layer has no such head. */
function mapOf(text, layer, head) {
  const key = `${text} ${layer} ${head}`;
  if (!known.has(key)) {
    const parts = partsOf(layer, head);
    const single = layer !== MEAN && head !== MEAN;
    const read = ([l, h]) => single ? decode(bytesOf(data.texts[text].weights[l][h])) : mapOf(text, l, h);
    const maps = parts.map(read);
    known.set(key, maps.length === 0 ? null : maps.length === 1 ? maps[0] : meanOf(maps));
  }
  return known.get(key);
}

/** A weight as it is shown: four significant digits, and 0 alone for nothing at all. */
function shown(weight) {
  if (weight === 0) return '0';
  return weight >= 0.0001 ? weight.toPrecision(4) : weight.toExponential(3);
}

function nameOf(layer, head) {
  const layerName = layer === MEAN ? 'mean of layers' : `layer ${layerNumber(layer)}`;
  const headName = head === MEAN ? 'mean of heads' : `head ${headNumber(head)}`;
  return `${layerName}, ${headName}`;
}
