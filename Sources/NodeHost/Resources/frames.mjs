// Frames of the protocol between the server and this process: four bytes of length, most significant first, and JSON.

const headerSize = 4;

/** Makes the bytes of a frame. */
export function frameOf(message) {
  const text = JSON.stringify(message);
  const size = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(headerSize + size);
  bytes.writeUInt32BE(size, 0);
  bytes.write(text, headerSize);
  return bytes;
}

/** Puts frames together from the pieces in which they arrive. */
export class FrameReader {
  #pieces = [];
  #size = 0;
  #wanted = headerSize;
  #inBody = false;

  /** Takes a piece, and gives the messages that it completes. */
  *read(piece) {
    this.#pieces.push(piece);
    this.#size += piece.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#take(this.#wanted);
      if (this.#inBody) {
        this.#inBody = false;
        this.#wanted = headerSize;
        yield JSON.parse(bytes.toString('utf8'));
      } else {
        this.#inBody = true;
        this.#wanted = bytes.readUInt32BE(0);
      }
    }
  }

  // Pieces are joined once a frame is whole: joining at each piece would cost the square of its length.
  #take(count) {
    const all = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces, this.#size);
    this.#pieces = all.length > count ? [all.subarray(count)] : [];
    this.#size = all.length - count;
    return all.subarray(0, count);
  }
}
