'use strict';
// The encoder in its worker: one at a time, answers as promises.

class Stopped extends Error {}  // the worker of a call was replaced

const WORKER = URL.createObjectURL(new Blob([document.getElementById('worker').textContent], {type: 'text/javascript'}));
let worker;
let waiting = new Map();  // id -> {resolve, reject, report}
let calls = 0;

/** Starts a new worker, which frees all memory of the last one. */
function restart() {
  if (worker) worker.terminate();
  for (const {reject} of waiting.values()) reject(new Stopped());
  waiting = new Map();
  worker = new Worker(WORKER);
  worker.onmessage = ({data}) => answer(data);
}

function answer({id, progress, error, ...answered}) {
  const {resolve, reject, report} = waiting.get(id);
  if (progress !== undefined) return report(progress);
  waiting.delete(id);
  return error === undefined ? resolve(answered) : reject(new Error(error));
}

/** Calls a function of worker.js. Returns a promise of {result, ms, memory}; `report` gets the progress. */
function call(name, args, report = () => {}) {
  return new Promise((resolve, reject) => {
    waiting.set(++calls, {resolve, reject, report});
    worker.postMessage({id: calls, call: name, args});
  });
}

/**
 * A function that starts `work(isStale)`. While it runs, further calls make it stale, and one more run
 * follows: inputs in between are dropped.
 */
function newest(work, fail) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      try {
        await work(() => again);
      } catch (error) {
        if (!(error instanceof Stopped)) fail(error);
      }
    }
    running = false;
  };
}

/** The cosine of the angle between two vectors. */
function cosine(a, b) {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / Math.sqrt(aa * bb || 1);
}
