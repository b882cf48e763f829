// Files.
'use strict';

const core = require('./core.js');

class ParseFile {
  constructor(name, data, contentType) {
    this._name = name;
    this._source = { format: 'base64', type: contentType ?? '' };
    if (Array.isArray(data) || data instanceof Uint8Array) this._data = Buffer.from(data).toString('base64');
    else if (typeof data?.base64 === 'string') this._data = data.base64;
    this._metadata = {};
    this._tags = {};
  }

  static fromJSON(json) {
    const file = new ParseFile(json.name);
    file._url = json.url;
    return file;
  }

  name() { return this._name; }
  url() { return this._url; }
  metadata() { return this._metadata; }
  tags() { return this._tags; }
  setMetadata(metadata) { this._metadata = metadata; }
  addMetadata(key, value) { this._metadata[key] = value; }
  setTags(tags) { this._tags = tags; }
  addTag(key, value) { this._tags[key] = value; }
  async getData() { return this._data; }
  toJSON() { return { __type: 'File', name: this._name, url: this._url }; }

  async save(options = {}) {
    const body = { base64: this._data, _ContentType: this._source.type, fileData: { metadata: this._metadata, tags: this._tags } };
    const answer = await core.getRESTController().request('POST', `files/${this._name}`, body, options);
    this._name = answer.name;
    this._url = answer.url;
    return this;
  }
}

module.exports = { ParseFile };
