// llama.cpp's speed on lines of text, with a GGUF file of gguf.py and npm's node-llama-cpp, which takes one text per call.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import {parseArgs} from 'node:util';

const USAGE = `usage: node llama.mjs [--threads N] [--json FILE] MODEL.gguf LINES
  LINES: file of texts, one per line; --threads: one per processor if absent; --json: output file for the result`;

process.on('uncaughtException', ({message}) => {
  console.error(`llama.mjs: ${message}`);
  process.exit(2);
});

const text = {type: 'string'};
const {values, positionals} = parseArgs({allowPositionals: true, options: {threads: text, json: text}});
const threads = Number(values.threads ?? os.availableParallelism());
if (!Number.isSafeInteger(threads) || threads < 1) throw Error(`--threads must be an integer above 0, got '${values.threads}'`);
if (positionals.length !== 2) throw Error(`MODEL.gguf and LINES must be given\n${USAGE}`);
const lines = fs.readFileSync(positionals[1], 'utf8').trimEnd().split('\n');
const {getLlama, GgufFileType} = await import(createRequire(import.meta.url).resolve('node-llama-cpp'));  // NODE_PATH
const llama = await getLlama({gpu: false, build: 'never', skipDownload: true, maxThreads: threads, logLevel: 'error'});
const model = await llama.loadModel({modelPath: positionals[0]});
const size = model.trainContextSize;  // the longest line in one batch
const context = await model.createEmbeddingContext({contextSize: size, batchSize: size, threads});
let best_s = Infinity;
for (let pass = 0; pass < 3; ++pass) {
  const start = performance.now();
  for (const [i, line] of lines.entries()) {
    const {vector} = await context.getEmbeddingFor(line);
    if (!vector.length || !vector.every(Number.isFinite)) throw Error(`line ${i + 1} must be text with a finite vector`);
  }
  best_s = Math.min(best_s, (performance.now() - start) / 1000);
}
console.log(`${best_s.toFixed(3)} s, ${(lines.length / best_s).toFixed(1)} lines/s`);
const dtype = GgufFileType[model.fileInfo.metadata.general.file_type];
const cases = [{name: `embed/lines:${lines.length}`, by: 'llama.cpp', threads, dtype, best_s}];
if (values.json) fs.writeFileSync(values.json, `${JSON.stringify({machine: {system: llama.systemInfo}, cases})}\n`);
await llama.dispose();
