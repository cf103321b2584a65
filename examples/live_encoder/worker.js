'use strict';
// Runs the encoder in a thread of its own, so that the page never waits. Each message {id, call, args} is
// answered by {id, result, ms, memory} or {id, error}; before it come messages {id, progress}, from 0 to 1.

/** Reports the share of the files' bytes that the encoder has read. */
function countBytesRead(files, report) {
  const all = files.filter(({name}) => /\.(json|safetensors|txt)$/.test(name)).reduce((sum, {data}) => sum + data.size, 0);
  const read = FileReaderSync.prototype.readAsArrayBuffer;
  let done = 0;
  FileReaderSync.prototype.readAsArrayBuffer = function (blob) {
    done += blob.size;
    report(Math.min(1, done / all));
    return read.call(this, blob);
  };
}

const started = createTessera();  // of the script before this one
let encoder;
let off = [];

/** Switches off these heads, [[layer, head], ...], and no others. */
function leaveOut(heads) {
  for (const [layer, head] of off) encoder.turn(layer, head, true);
  for (const [layer, head] of heads) encoder.turn(layer, head, false);
  off = heads;
}

const calls = {
  /** Opens a model's folder: files are [{name, data}], with names relative to the folder. */
  open(module, report, files) {
    countBytesRead(files, report);
    module.FS.mkdir('/model');
    module.FS.mount(module.WORKERFS, {blobs: files}, '/model');
    encoder = new module.LiveEncoder();
    return encoder.open('/model');
  },
  vector(module, report, text, heads) {
    leaveOut(heads);
    return encoder.vector(text);
  },
  look(module, report, text, heads) {
    leaveOut(heads);
    return encoder.look(text);
  },
  patch(module, report, text, other, target, heads) {
    leaveOut(heads);
    return encoder.patch(text, other, target, report);
  },
};

onmessage = async ({data: {id, call, args}}) => {
  try {
    const module = await started;
    const start = performance.now();
    const result = calls[call](module, (progress) => postMessage({id, progress}), ...args);
    postMessage({id, result, ms: performance.now() - start, memory: module.memory()});
  } catch (error) {
    postMessage({id, error: error.message});
  }
};
