'use strict';
// Runs the encoder in a thread of its own, so that the page never waits. Each message {id, call, args} is
// answered by {id, result} or {id, error}; {progress: {done, all}} comes while files are read.

/** Counts the bytes that the encoder reads of the files, for the progress. */
function countBytesRead(files) {
  const all = files.reduce((sum, {data}) => sum + data.size, 0);
  const read = FileReaderSync.prototype.readAsArrayBuffer;
  let done = 0;
  FileReaderSync.prototype.readAsArrayBuffer = function (blob) {
    done = Math.min(all, done + blob.size);
    postMessage({progress: {done, all}});
    return read.call(this, blob);
  };
}

const started = createTessera();  // of the script before this one
let encoder;

const calls = {
  /** Opens a model's folder: files are [{name, data}], with names relative to the folder. */
  async open(files) {
    const module = await started;
    countBytesRead(files);
    module.FS.mkdir('/model');
    module.FS.mount(module.WORKERFS, {blobs: files}, '/model');
    encoder = new module.LiveEncoder();
    return encoder.open('/model');
  },
  turn: (layer, head, isOn) => encoder.turn(layer, head, isOn),
  vector: (text) => encoder.vector(text),
  look: (text) => encoder.look(text),
  patch: (text, other, target) => encoder.patch(text, other, target),
  memory: async () => (await started).memory(),
};

onmessage = async ({data: {id, call, args}}) => {
  try {
    postMessage({id, result: await calls[call](...args)});
  } catch (error) {
    postMessage({id, error: error.message});
  }
};
