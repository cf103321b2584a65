'use strict';
// Arrays in files: .npy, read and written, and .safetensors, written. float32, little-endian.

const fs = require('node:fs');

/** Numbers from [-1, 1), the same in each run. **Source**: Park and Miller, 1988. */
function randomNumbers(count, seed) {
  let state = seed;
  return Float32Array.from({length: count}, () => {
    state = state * 48271 % 2147483647;
    return 2 * state / 2147483647 - 1;
  });
}

const bytesOf = (values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

function writeNpy(file, shape, values) {
  const dict = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const header = dict.padEnd(Math.ceil((dict.length + 11) / 64) * 64 - 11) + '\n';
  const preamble = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  fs.writeFileSync(file, Buffer.concat([preamble, Buffer.from(header, 'latin1'), bytesOf(values)]));
}

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const end = 10 + bytes.readUInt16LE(8);
  const header = bytes.subarray(10, end).toString('latin1');
  if (!header.includes("'<f4'")) throw new Error(`${file}: not float32: ${header}`);
  const shape = header.match(/\(([^)]*)\)/)[1].split(',').filter((n) => n.trim()).map(Number);
  return {shape, values: new Float32Array(bytes.buffer.slice(bytes.byteOffset + end, bytes.byteOffset + bytes.length))};
}

function writeSafetensors(file, tensors) {
  const header = {};
  let end = 0;
  for (const [name, {shape, values}] of Object.entries(tensors)) {
    header[name] = {dtype: 'F32', shape, data_offsets: [end, end + values.byteLength]};
    end += values.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  fs.writeFileSync(file, Buffer.concat([length, text, ...Object.values(tensors).map(({values}) => bytesOf(values))]));
}

/** Weights of an nn.TransformerEncoder, so large that attention is not even. */
function writeEncoder(file, {layers, width}) {
  const tensors = {};
  for (let layer = 0; layer < layers; ++layer) {
    const shapes = {
      'self_attn.in_proj_weight': [3 * width, width], 'self_attn.in_proj_bias': [3 * width],
      'self_attn.out_proj.weight': [width, width], 'self_attn.out_proj.bias': [width],
      'linear1.weight': [width, width], 'linear1.bias': [width],
      'linear2.weight': [width, width], 'linear2.bias': [width],
      'norm1.weight': [width], 'norm1.bias': [width], 'norm2.weight': [width], 'norm2.bias': [width],
    };
    Object.entries(shapes).forEach(([name, shape], number) => {
      const count = shape.reduce((product, size) => product * size, 1);
      tensors[`layers.${layer}.${name}`] = {shape, values: randomNumbers(count, 1 + 100 * layer + number)};
    });
  }
  writeSafetensors(file, tensors);
}

module.exports = {randomNumbers, readNpy, writeEncoder, writeNpy};
