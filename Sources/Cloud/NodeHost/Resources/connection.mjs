// The connection to the server: sends and receives messages, and matches responses to requests.

import net from 'node:net';
import { FrameReader, FrameWriter } from './frames.mjs';

// The server rejects deeper values. A message itself has two levels.
const deepest = 250;
// These messages must arrive in order, because later registrations replace earlier ones.
const ordered = new Set(['hello', 'register']);

export class Connection {
  #socket;
  #reader = new FrameReader();
  #writer;
  #handlers = new Map();
  #questions = new Map();
  #lastQuestion = 0;
  /** The maximum size in bytes of a message. */
  limit = 1024 * 1024;

  /** Connects to the server. The secret proves that the server started this process. */
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
    // The server has ended, so this process is no longer needed.
    socket.on('close', () => process.exit(0));
    socket.on('error', () => process.exit(0));
  }

  /** Calls a function for each message of a type. */
  on(type, handler) {
    this.#handlers.set(type, handler);
  }

  /** Waits for one message of a type. */
  once(type) {
    return new Promise(resolve => this.on(type, resolve));
  }

  /** Sends a message. Throws if the server would reject it. */
  send(type, fields) {
    if (isDeeper(fields, deepest)) throw new Error(`The value is nested deeper than ${deepest} levels.`);
    const bytes = Buffer.from(JSON.stringify({ type, ...fields }));
    if (bytes.length > this.limit) throw new Error(`The value is larger than ${this.limit} bytes.`);
    this.#writer.write(bytes, ordered.has(type));
  }

  /** Sends a request to the server and waits for the response. */
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

  /** Sends the remaining messages, then ends the process, after two seconds at the latest. */
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
