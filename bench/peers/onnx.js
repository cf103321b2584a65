'use strict';
// ONNX models as the bytes of their file, made without a library: an ONNX file is one message of protocol
// buffers. **Source**: onnx.proto of the ONNX project; "Encoding" of the Protocol Buffers' documentation.
//
// A message is a list of fields, each a number and a value: whole numbers as varints, all else with its length
// before it.

// Values of TensorProto.DataType.
const FLOAT = 1;
const INT8 = 3;

/** A whole number by seven bits a byte, the lowest first. */
function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return Buffer.from([...bytes, value]);
}

const whole = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);

/** A text, bytes, or a message inside a message: a list of its fields. */
function bytes(field, value) {
  const content = Array.isArray(value) ? Buffer.concat(value) : Buffer.from(value);
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
}

function float(field, value) {
  const content = Buffer.alloc(4);
  content.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + 5), content]);
}

/** Whole numbers are attributes of type int, others of type float. */
function attribute(name, value) {
  return bytes(5, Number.isInteger(value) ? [bytes(1, name), whole(3, value), whole(20, 2)] :
    [bytes(1, name), float(2, value), whole(20, 1)]);
}

/** node('MatMul', ['x', 'w'], 'y'); the operators of ONNX Runtime's own need its domain. */
function node(type, inputs, output, attributes = {}, domain = '') {
  return bytes(1, [...inputs.map((name) => bytes(1, name)), bytes(2, output), bytes(4, type), bytes(7, domain),
    ...Object.entries(attributes).map(([name, value]) => attribute(name, value))]);
}

/** A constant of the model, from a Float32Array or an Int8Array. */
function weight(name, shape, values) {
  const raw = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const type = values instanceof Int8Array ? INT8 : FLOAT;
  return bytes(5, [...shape.map((size) => whole(1, size)), whole(2, type), bytes(8, name), bytes(9, raw)]);
}

function port(field, name, shape) {
  const sizes = shape.map((size) => bytes(1, [whole(1, size)]));
  return bytes(field, [bytes(1, name), bytes(2, [bytes(1, [whole(1, FLOAT), bytes(2, sizes)])])]);
}

/** A model of nodes and weights; `inputs` and `outputs` are shapes by name. */
function model(nodes, weights, inputs, outputs) {
  const ports = (field, shapes) => Object.entries(shapes).map(([name, shape]) => port(field, name, shape));
  const graph = [...nodes, bytes(2, 'case'), ...weights, ...ports(11, inputs), ...ports(12, outputs)];
  const operators = (domain, version) => bytes(8, [bytes(1, domain), whole(2, version)]);
  return Buffer.concat([whole(1, 8), bytes(7, graph), operators('', 17), operators('com.microsoft', 1)]);
}

module.exports = {model, node, weight};
