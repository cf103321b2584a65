// llama.cpp's speed on lines of text, with a GGUF file of gguf.py and npm's node-llama-cpp, which takes one text per call.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import {parseArgs} from 'node:util';

const USAGE = `usage: node llama.mjs [--threads N] [--json FILE] MODEL.gguf LINES
  LINES           file of texts, one per line
  --threads N     threads; one per processor if absent
  --json FILE     output file for the result`;

/** Seconds to tokenize and encode all lines. */
async function pass(context, lines) {
  const start = performance.now();
  for (const [i, line] of lines.entries()) {
    const {vector} = await context.getEmbeddingFor(line);
    if (!vector.length || !vector.every(Number.isFinite)) throw Error(`line ${i + 1} must be text with a finite vector`);
  }
  return (performance.now() - start) / 1000;
}

async function main() {
  const {values: {threads: count, json}, positionals: [modelPath, texts, ...more]} = parseArgs(
    {allowPositionals: true, options: {threads: {type: 'string'}, json: {type: 'string'}}});
  const threads = Number(count ?? os.availableParallelism());
  if (!Number.isSafeInteger(threads) || threads < 1) throw Error(`--threads must be an integer above 0, got '${count}'`);
  if (!texts || more.length) throw Error(`MODEL.gguf and LINES must be given\n${USAGE}`);
  const lines = fs.readFileSync(texts, 'utf8').trimEnd().split('\n');
  const {getLlama, GgufFileType} = await import(createRequire(import.meta.url).resolve('node-llama-cpp'));  // in NODE_PATH, too
  const llama = await getLlama({gpu: false, build: 'never', skipDownload: true, maxThreads: threads, logLevel: 'error'});
  const model = await llama.loadModel({modelPath});
  const size = model.trainContextSize;  // the longest line in one batch
  const context = await model.createEmbeddingContext({contextSize: size, batchSize: size, threads});
  const best_s = Math.min(await pass(context, lines), await pass(context, lines), await pass(context, lines));
  console.log(`${best_s.toFixed(3)} s, ${(lines.length / best_s).toFixed(1)} lines/s`);
  const dtype = GgufFileType[model.fileInfo.metadata.general.file_type];
  const cases = [{name: `embed/lines:${lines.length}`, by: 'llama.cpp', threads, dtype, best_s}];
  if (json) fs.writeFileSync(json, `${JSON.stringify({machine: {system: llama.systemInfo}, cases})}\n`);
  await llama.dispose();
}

main().catch(({code, message}) => {
  console.error(`llama.mjs: ${message}${code?.startsWith('ERR_PARSE_ARGS') ? `\n${USAGE}` : ''}`);
  process.exit(2);
});
