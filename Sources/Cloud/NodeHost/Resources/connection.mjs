// The connection to the server: messages out and in, and questions that wait for their answers.

import net from 'node:net';
import { FrameReader, FrameWriter } from './frames.mjs';

// The server reads nothing that is nested deeper; a message has two levels of its own.
const deepest = 250;
// What the server must get in order: a later offer takes the place of an earlier one.
const ordered = new Set(['hello', 'register']);

export class Connection {
  #socket;
  #reader = new FrameReader();
  #writer;
  #handlers = new Map();
  #questions = new Map();
  #lastQuestion = 0;
  /** The most bytes of a message. */
  limit = 1024 * 1024;

  /** Connects to the server, and proves by the secret that it started this process. */
  static open(path, secret) {
    return new Promise((resolve, reject) => {
      const socket = net.createConnection(path);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        const connection = new Connection(socket);
        connection.send('connect', { secret, protocol: 1, pid: process.pid, node: process.versions.node });
        resolve(connection);
      });
    });
  }

  constructor(socket) {
    this.#socket = socket;
    this.#writer = new FrameWriter(socket);
    socket.on('data', piece => {
      for (const message of this.#reader.read(piece)) this.#handle(message);
    });
    // The server is gone, and this process has nobody to work for.
    socket.on('close', () => process.exit(0));
    socket.on('error', () => process.exit(0));
  }

  /** Has a function called for each message of a type. */
  on(type, handler) {
    this.#handlers.set(type, handler);
  }

  /** Waits for one message of a type. */
  once(type) {
    return new Promise(resolve => this.on(type, resolve));
  }

  /** Sends a message. Throws for one that the server would not take. */
  send(type, fields) {
    if (isDeeper(fields, deepest)) throw new Error(`The value is nested deeper than ${deepest} levels.`);
    const bytes = Buffer.from(JSON.stringify({ type, ...fields }));
    if (bytes.length > this.limit) throw new Error(`The value has more than ${this.limit} bytes.`);
    this.#writer.write(bytes, ordered.has(type));
  }

  /** Asks the server, and waits for its answer. */
  ask(type, fields) {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastQuestion;
      this.#questions.set(id, resolve);
      try {
        this.send(type, { id, ...fields });
      } catch (error) {
        this.#questions.delete(id);
        reject(error);
      }
    });
  }

  /** Sends what is left, and has the process end. */
  end(status) {
    this.#socket.removeAllListeners('close');
    this.#writer.whenDrained(() => this.#socket.end(() => process.exit(status)));
    setTimeout(() => process.exit(status), 2000).unref();
  }

  #handle(message) {
    if (message.type === 'answer') {
      const resolve = this.#questions.get(message.id);
      this.#questions.delete(message.id);
      resolve?.(message);
    } else {
      this.#handlers.get(message.type)?.(message);
    }
  }
}

function isDeeper(value, levels) {
  if (value === null || typeof value !== 'object') return false;
  if (levels === 0) return true;
  for (const key in value) if (isDeeper(value[key], levels - 1)) return true;
  return false;
}
