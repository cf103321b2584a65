// A small precompiled_charsmap, in the format of SentencePiece: the size of a double array trie in
// bytes (u32), the trie, and the replacements, each with a NUL at its end.
'use strict';

/** The trie's units for sorted keys: Darts-clone's layout, built greedily. */
function buildTrie(entries) {
  const root = { next: new Map(), value: -1 };
  for (const [key, value] of entries) {
    let node = root;
    for (const byte of Buffer.from(key)) {
      if (!node.next.has(byte)) node.next.set(byte, { next: new Map(), value: -1 });
      node = node.next.get(byte);
    }
    node.value = value;
  }
  // A unit: bits 0-7 label (bit 31 set in a leaf, which holds the value), 8 has a leaf, 9 extended
  // offset, 10-30 offset. The child for byte c of a unit at p stands at p ^ offset ^ c.
  const units = new Map();
  const used = new Set([0]);
  const place = (node, at, label) => {
    const children = [...node.next.keys()].sort((a, b) => a - b);
    const labels = node.value >= 0 ? [0, ...children] : children;
    let base = 1;
    while (labels.some((c) => used.has(base ^ c))) ++base;
    for (const c of labels) used.add(base ^ c);
    const offset = at ^ base;
    if (offset >= 1 << 21) throw new Error("offset too large");
    units.set(at, (label | (node.value >= 0 ? 1 << 8 : 0) | (offset << 10)) >>> 0);
    if (node.value >= 0) units.set(base, (node.value | (1 << 31)) >>> 0);
    for (const c of children) place(node.next.get(c), base ^ c, c);
  };
  place(root, 0, 0);
  const size = (Math.max(...used) | 255) + 1;
  const bytes = Buffer.alloc(4 * size);
  for (const [at, unit] of units) bytes.writeUInt32LE(unit, 4 * at);
  return bytes;
}

/** The base64 of a map from strings to strings. */
function charsmap(map) {
  const texts = [];
  let offset = 0;
  const entries = Object.entries(map).map(([from, to]) => {
    const text = Buffer.from(to + "\0");
    const entry = [from, offset];
    texts.push(text);
    offset += text.length;
    return entry;
  });
  const trie = buildTrie(entries);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(trie.length);
  return Buffer.concat([size, trie, ...texts]).toString("base64");
}

module.exports = { charsmap };
