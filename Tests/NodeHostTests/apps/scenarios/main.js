// The scenarios' functions, validators, triggers and jobs.
'use strict';

const { places } = require('cloud/places');

const { define, beforeSave, afterSave, afterDelete, beforeFind, afterFind } = Parse.Cloud;

define('typeOfDate', request => (request.params.d instanceof Date ? 'Date' : typeof request.params.d));
define('typeOfPointer', request => (request.params.p instanceof Parse.Object ? request.params.p.id : typeof request.params.p));
define('throwObject', () => { throw { why: 'because' }; });
define('place', () => places.first);
define('who', request => ({
  user: request.user ? request.user.get('username') : null, master: request.master, ip: request.ip,
  installation: request.installationId ?? null, header: request.headers['x-test'] ?? null, context: request.context,
  secret: request.headers['x-parse-master-key'] ?? null, name: request.functionName,
}));
define('status', (request, response) => response.status(201).header('X-Test', 'yes').success({ made: true }));
define('refuse', (request, response) => response.error('refused by the response'));
define('twice', (request, response) => {
  response.success(1);
  try {
    response.success(2);
  } catch (error) {
    console.log(`twice: ${error.message}`);
  }
});
define('environment', () => Object.keys(process.env).filter(name => /MASTER_KEY|SERVER_DATABASE_URI|ROOST_CLOUD/.test(name)));
define('run', request => Parse.Cloud.run('who', request.params, { sessionToken: request.user?.getSessionToken() }));
define('login', async request => {
  const user = await Parse.User.logIn(request.params.username, 'secret');
  return user.get('username');
});
define('config', async () => (await Parse.Config.get()).get('motto') ?? null);
define('missing', () => new Parse.Query('Thing').get('nowhere', { useMasterKey: true }));
define('insides', () => Parse.Server.database);
define('insideModule', () => require('parse-server/lib/Config'));
define('mail', async () => (await Parse.Cloud.sendEmail({ to: 'a@example.com', subject: 's', text: 't' })) ?? null);
define('httpRequest', () => Parse.Cloud.httpRequest({ url: 'http://127.0.0.1:1/' }));
define('wrongName', () => { throw new Parse.Error('FB_FAILED', 'not a number'); });
define('deep', () => {
  let value = 1;
  for (let level = 0; level < 1000; level++) value = [value];
  return value;
});
define('unsavedFile', () => new Parse.File('a.txt', { base64: 'aGk=' }));
define('late', () => { define('later', () => 'here'); });

const validators = {
  roles: { requireAnyUserRoles: ['A'] },
  rolesByFunction: { requireAllUserRoles: async () => ['A'] },
  date: { fields: { d: { type: Date, required: true } } },
  optionsByFunction: { fields: { x: { options: value => value > 3, required: true, error: 'more than three' } } },
  default: { fields: { x: { default: 5 } } },
  userKeys: { requireUserKeys: { nickname: { options: ['a', 'b'] } } },
  null: () => { throw null; },
  false: () => false,
};
for (const [name, validator] of Object.entries(validators)) {
  define(`validator-${name}`, request => request.params, validator);
}

beforeSave('Unset', request => { request.object.unset('a'); });
beforeSave('List', request => { request.object.get('list')?.push('pushed'); });
beforeSave('Revert', request => { request.object.revert('a'); });
beforeSave('Original', request => {
  const { object, original } = request;
  request.context.seen = {
    old: original?.get('a') ?? null, new: object.get('a'), dirty: object.dirtyKeys(), isNew: object.isNew(),
    n: object.get('n') ?? null,
  };
});
afterSave('Original', request => ({ ...request.context.seen, existed: request.object.existed(), id: request.object.id }));
beforeSave('Context', request => { request.context.k = 'from beforeSave'; });
afterSave('Context', request => request.context);
afterSave('Failing', () => { throw new Error('after the save'); });
beforeSave('Typed', () => { console.log('Typed was called'); });
beforeSave('Recursive', async () => { await new Parse.Object('Recursive').save(null, { useMasterKey: true }); });
beforeSave('Pointing', async request => {
  const other = await new Parse.Object('Thing').save({ title: 'pointed at' }, { useMasterKey: true });
  request.object.set('other', other);
});

afterDelete('Mourned', () => { throw new Error('gone all the same'); });
beforeFind('Made', () => [Parse.Object.fromJSON({ className: 'Made', objectId: 'made', a: 1 })]);
afterFind('Made', request => request.objects.map(object => object.set('seen', true)));

beforeSave(Parse.User, request => {
  if (request.object.get('username') === 'named') request.object.set('sawPassword', request.object.get('password'));
});

beforeSave(Parse.File, request => {
  const { file } = request;
  if (file.name() === 'bad.txt') throw 'no such files';
  if (file.name() === 'renamed.txt') {
    return new Parse.File('other.txt', { base64: Buffer.from('other').toString('base64') }, 'text/plain');
  }
  return undefined;
});
beforeSave(Parse.Config, request => {
  if (request.object.get('motto') === 'bad') throw 'not that one';
});

Parse.Cloud.job('count', async request => {
  request.message(`counting ${request.params.things}`);
  // Waits until the test creates an object of this class, so that the message can be observed on any machine.
  for (let turn = 0; request.params.until && turn < 1000; turn += 1) {
    if (await new Parse.Query(request.params.until).first({ useMasterKey: true })) break;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  return 'ok';
});
Parse.Cloud.job('break', () => { throw new Error('broken'); });
define('start', async request => Parse.Cloud.startJob('count', request.params));
