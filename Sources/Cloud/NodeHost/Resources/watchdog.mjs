// Ends this process when the server has ended, even if code blocks the event loop: a separate thread watches the parent
// process id.

import { Worker } from 'node:worker_threads';

const code = `
const { workerData } = require('node:worker_threads');
const pause = new Int32Array(new SharedArrayBuffer(4));
// The pause can be interrupted, so the thread doesn't delay the end of the process.
while (process.ppid === workerData) Atomics.wait(pause, 0, 0, 500);
process.kill(process.pid, 'SIGKILL');
`;

export function startWatchdog(server) {
  const limits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };
  const options = { eval: true, workerData: server, env: {}, execArgv: [], resourceLimits: limits };
  new Worker(code, options).unref();
}
