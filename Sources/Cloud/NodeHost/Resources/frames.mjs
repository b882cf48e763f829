// Frames of the protocol between the server and this process: four big-endian bytes with the length and marks, and a piece
// of JSON. Large messages are sent in pieces, interleaved with small messages.

const headerSize = 4;
const pieceSize = 64 * 1024;
const pieceMark = 0x80000000;
const lastMark = 0x40000000;
const lengthMask = 0x3fffffff;

/** Writes messages to a socket. */
export class FrameWriter {
  #socket;
  #small = [];
  #large = [];
  #written = 0;
  #drained = () => {};

  constructor(socket) {
    this.#socket = socket;
    socket.on('drain', () => this.#pump());
  }

  /** Writes a message. Ordered messages keep their order. */
  write(bytes, isOrdered) {
    (isOrdered || bytes.length > pieceSize ? this.#large : this.#small).push(bytes);
    this.#pump();
  }

  /** Calls back when everything is written. */
  whenDrained(callback) {
    this.#drained = callback;
    this.#pump();
  }

  #pump() {
    while (!this.#socket.writableNeedDrain) {
      const small = this.#small.shift();
      const large = this.#nextPiece();
      if (small === undefined && large === undefined) return this.#drained();
      if (small !== undefined) this.#socket.write(frameOf(small, 0));
      if (large !== undefined) this.#socket.write(large);
    }
  }

  #nextPiece() {
    const bytes = this.#large[0];
    if (bytes === undefined) return undefined;
    const end = Math.min(this.#written + pieceSize, bytes.length);
    const isLast = end === bytes.length;
    const piece = frameOf(bytes.subarray(this.#written, end), pieceMark + (isLast ? lastMark : 0));
    this.#written = isLast ? 0 : end;
    if (isLast) this.#large.shift();
    return piece;
  }
}

function frameOf(content, marks) {
  const bytes = Buffer.allocUnsafe(headerSize + content.length);
  bytes.writeUInt32BE(marks + content.length, 0);
  content.copy(bytes, headerSize);
  return bytes;
}

/** Reassembles messages from received pieces. */
export class FrameReader {
  #pieces = [];
  #size = 0;
  #wanted = headerSize;
  #header;
  #message = [];

  /** Adds a piece and yields the messages that it completes. */
  *read(piece) {
    this.#pieces.push(piece);
    this.#size += piece.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#take(this.#wanted);
      if (this.#header === undefined) {
        this.#header = bytes.readUInt32BE(0);
        this.#wanted = this.#header & lengthMask;
        continue;
      }
      const header = this.#header;
      this.#header = undefined;
      this.#wanted = headerSize;
      if (header < pieceMark) {
        yield JSON.parse(bytes.toString('utf8'));
        continue;
      }
      this.#message.push(bytes);
      if ((header & lastMark) === 0) continue;
      const text = Buffer.concat(this.#message).toString('utf8');
      this.#message = [];
      yield JSON.parse(text);
    }
  }

  // Pieces are joined once a frame is complete, because joining them one by one would take quadratic time.
  #take(count) {
    const all = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces, this.#size);
    this.#pieces = all.length > count ? [all.subarray(count)] : [];
    this.#size = all.length - count;
    return all.subarray(0, count);
  }
}
