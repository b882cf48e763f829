// A stand-in for `parse/node` with the same names, because the real package isn't available in tests.
'use strict';

const core = require('./lib/core.js');
const { ParseError, GeoPoint, ACL } = require('./lib/values.js');
const { encode, decode } = require('./lib/encoding.js');
const operations = require('./lib/operations.js');
const { ParseObject, Relation } = require('./lib/object.js');
const { User, Role, Session, Installation } = require('./lib/system.js');
const { ParseFile } = require('./lib/file.js');
const { Query } = require('./lib/query.js');
const { ParseConfig } = require('./lib/config.js');
const { Push } = require('./lib/push.js');

const Parse = {
  CoreManager: core, Error: ParseError, GeoPoint, ACL, Object: ParseObject, Relation, User, Role, Session, Installation,
  File: ParseFile, Push, Query, Config: ParseConfig, Op: operations,
  _encode: (value, withoutObjects = false, asPointers = false) => encode(value, withoutObjects, asPointers),
  _decode: (_, value) => decode(value),
  initialize(applicationId, javascriptKey, masterKey) {
    core.set('APPLICATION_ID', applicationId);
    core.set('JAVASCRIPT_KEY', javascriptKey);
    core.set('MASTER_KEY', masterKey);
  },
  get applicationId() { return core.get('APPLICATION_ID'); },
  get masterKey() { return core.get('MASTER_KEY'); },
  get serverURL() { return core.get('SERVER_URL'); },
  set serverURL(url) { core.set('SERVER_URL', url); },
  Cloud: {
    async run(name, params, options = {}) {
      const body = await core.getRESTController().request('POST', `functions/${name}`, encode(params ?? {}, true), options);
      return decode(body)?.result;
    },
    async startJob(name, params) {
      const body = encode(params ?? {}, true);
      const answer = await core.getRESTController()
        .request('POST', `jobs/${name}`, body, { returnStatus: true, useMasterKey: true });
      return answer._headers?.['X-Parse-Job-Status-Id'];
    },
    getJobsData: () => core.getRESTController().request('GET', 'cloud_code/jobs/data', null, { useMasterKey: true }),
    getJobStatus: id => new Query('_JobStatus').get(id, { useMasterKey: true }),
  },
};

// For require('parse/node').Parse, as in the real package.
Parse.Parse = Parse;
module.exports = Parse;
