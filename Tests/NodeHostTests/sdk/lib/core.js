// The settings, and the controller that sends all requests.
'use strict';

const { ParseError } = require('./values.js');

const settings = new Map([
  ['VERSION', '0.0.0-stand-in'], ['IS_NODE', true], ['USE_MASTER_KEY', false], ['SERVER_URL', ''],
]);

let controller = {
  async request(method, path, data, options = {}) {
    const headers = {
      'Content-Type': 'application/json', 'X-Parse-Application-Id': settings.get('APPLICATION_ID'),
      'X-Parse-JavaScript-Key': settings.get('JAVASCRIPT_KEY'),
    };
    if (options.useMasterKey) headers['X-Parse-Master-Key'] = settings.get('MASTER_KEY');
    if (options.sessionToken) headers['X-Parse-Session-Token'] = options.sessionToken;
    const body = JSON.stringify(method === 'POST' ? data : { ...data, _method: method });
    const answer = await fetch(`${settings.get('SERVER_URL')}/${path}`, { method: 'POST', headers, body });
    const json = await answer.json();
    if (!answer.ok) throw new ParseError(json.code, json.error);
    return json;
  },
  async ajax() {
    throw new Error('The stand-in has no ajax.');
  },
};

module.exports = {
  get: name => settings.get(name),
  set: (name, value) => settings.set(name, value),
  getRESTController: () => controller,
  setRESTController: value => { controller = value; },
};
