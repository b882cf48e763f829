// Sends the output of cloud code to the server's log, with the id of its request.

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format } from 'node:util';
import { callOf, currentCall } from './tracking.mjs';

const longest = 16 * 1024;

export class Log {
  #connection;

  constructor(connection) {
    this.#connection = connection;
  }

  /** Sends a line to the server's log. */
  write(level, text, call = currentCall()) {
    const cut = text.length > longest ? `${text.slice(0, longest)}... (truncated)` : text;
    this.#connection.send('log', { level, text: cut, request: call?.requestId });
  }

  /** Creates `request.log`, which has the levels of the server's logger. */
  forCall(call) {
    const level = name => (...args) => this.write(name, format(...args), call);
    return {
      error: level('error'), warn: level('warn'), info: level('info'), verbose: level('verbose'),
      debug: level('debug'), silly: level('silly'),
      log: (name, ...args) => this.write(String(name), format(...args), call),
    };
  }

  /** Redirects the functions of `console` to this log. */
  captureConsole() {
    const stream = level => new Writable({
      write: (chunk, _, done) => {
        this.write(level, chunk.toString().replace(/\n$/, ''));
        done();
      },
    });
    const captured = new Console({ stdout: stream('info'), stderr: stream('error'), colorMode: false });
    for (const name of Object.keys(captured)) {
      if (typeof captured[name] === 'function') console[name] = captured[name];
    }
    console.warn = (...args) => this.write('warn', format(...args));
    console.debug = (...args) => this.write('debug', format(...args));
  }

  /** Logs unhandled promise rejections, which would otherwise end the process. */
  captureRejections() {
    process.on('unhandledRejection', (reason, promise) => {
      const text = reason instanceof Error ? reason.stack ?? String(reason) : format(reason);
      this.write('error', `Unhandled promise rejection: ${text}`, callOf(promise));
    });
  }
}
