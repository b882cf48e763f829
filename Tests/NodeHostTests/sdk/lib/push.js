// Push notifications.
'use strict';

const core = require('./core.js');
const { encode } = require('./encoding.js');
const { Query } = require('./query.js');

const iso = time => (time instanceof Date ? time.toJSON() : time);

const Push = {
  async send(data, options = {}) {
    const body = { ...data };
    if (body.where instanceof Query) body.where = body.where.toJSON().where;
    for (const key of ['push_time', 'expiration_time']) if (body[key]) body[key] = iso(body[key]);
    if (body.expiration_time && body.expiration_interval) {
      throw new Error('expiration_time and expiration_interval cannot both be set.');
    }
    const answer = await core.getRESTController()
      .request('POST', 'push', encode(body, true), { ...options, returnStatus: true });
    return answer._headers?.['X-Parse-Push-Status-Id'];
  },
  getPushStatus: (id, options = {}) => new Query('_PushStatus').get(id, options),
};

module.exports = { Push };
