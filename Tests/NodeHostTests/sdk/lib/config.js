// The config of the app.
'use strict';

const core = require('./core.js');
const { encode, decode } = require('./encoding.js');

class ParseConfig {
  constructor() {
    this.attributes = {};
  }

  get(name) { return this.attributes[name]; }

  static async get(options = {}) {
    const { params } = await core.getRESTController().request('GET', 'config', {}, options);
    const config = new ParseConfig();
    config.attributes = decode(params);
    return config;
  }

  static save(params) {
    return core.getRESTController().request('PUT', 'config', { params: encode(params, false, true) }, { useMasterKey: true });
  }
}

module.exports = { ParseConfig };
