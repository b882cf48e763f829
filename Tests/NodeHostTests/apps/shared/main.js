// The code for the scenarios shared by all hosts of cloud code.
'use strict';

const { define, beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind } = Parse.Cloud;

define('echo', request => request.params);
define('nothing', () => {});
define('null', () => null);
define('date', request => request.params.d);
define('dateOut', () => new Date(Date.UTC(2016, 4, 22, 9)));
define('objectOut', () => new Parse.Object('Note').save({ text: 'x' }, { useMasterKey: true }));
define('failText', () => { throw 'no'; });
define('failCode', () => { throw new Parse.Error(101, 'gone'); });
define('context', request => request.context);
define('dotted.name', () => 2);
define('caller', request => ({
  user: request.user?.get('username') ?? null, token: request.user?.getSessionToken() ?? null, master: request.master,
  installationId: request.installationId ?? null, ip: request.ip, header: request.headers['x-own-header'] ?? null,
}));

beforeSave('SetsB', request => { request.object.set('b', 2); });
beforeSave('SetsSame', request => { request.object.set('a', request.object.get('a')); });
beforeSave('Unsets', request => { request.object.unset('a'); });
beforeSave('Defaulted', request => { request.object.set('saw', request.object.has('d')); });
beforeSave('Increments', request => { request.object.increment('n'); });
beforeSave('Refuses', () => { throw 'no'; });
beforeSave('RefusesCode', request => {
  if (request.object.get('a') === 1) throw new Parse.Error(1337, 'x');
});
beforeSave('Guarded', () => { throw 'called'; });
beforeSave('Owned', request => { if (!request.object.isNew()) throw 'called'; });
beforeSave('Typed', () => {});
beforeSave('Original', request => {
  if (!request.original) return;
  request.object.set('was', request.original.get('a'));
  request.object.set('is', request.object.get('a'));
});
beforeSave('Chain', request => { request.context.k = 1; });
afterSave('Chain', request => ({ context: request.context }));
afterSave('AfterFails', () => { throw 'no'; });
afterSave('AfterReplaces', () => ({ x: 1 }));
beforeSave(Parse.User, request => {
  request.object.set('seen', request.object.has('password'));
  request.object.increment('saves');
});
Parse.Cloud.beforeLogin(request => { if (request.object.get('nick') === 'barred') throw 'no'; });
Parse.Cloud.afterLogin(request => { if (request.object.get('nick') === 'late') throw 'too late'; });

beforeDelete('Kept', request => { if (request.object.get('kept')) throw 'no'; });
afterDelete('TooLate', () => { throw 'too late'; });
beforeFind('NoFinds', () => { throw 'no'; });
beforeDelete('NoFinds', () => {});
beforeFind('LimitOne', request => { request.query.limit(1); });
beforeFind('Made', () => [new Parse.Object('Made', { made: true })]);
afterFind('Emptied', () => []);
beforeFind('Inner', request => { request.query.notEqualTo('secret', true); });
afterFind('Inner', request => { for (const object of request.objects) object.set('seen', true); });
beforeFind('Counted', request => [new Parse.Object('Counted', { counted: request.count })]);

// Not possible with webhooks.
define('dirtyOut', async () => {
  const note = await new Parse.Object('Note').save(null, { useMasterKey: true });
  return note.set('text', 'y');
});
define('failError', () => { throw new Error('no'); });
define('failSilently', () => { throw null; });
beforeSave('FailsSilently', () => { throw undefined; });
beforeSave('AfterSets', request => { request.object.set('b', 2); });
afterSave('AfterSets', request => {
  request.object.set({ c: 3, a: request.object.get('a'), p: Parse.Object.fromJSON({ className: 'Note', objectId: 'abcdefghij' }) });
  request.object.increment('n');
});
afterFind('AfterFinds', request => {
  for (const object of request.objects) object.increment('n').set('m', 2).unset('o');
});
Parse.Cloud.job('work', request => {
  request.message('working');
  return 'ok';
});

const minute = { requestTimeWindow: 60000, includeInternalRequests: true };
const validators = {
  needsUser: { requireUser: true },
  needsFoo: { validateMasterKey: true, fields: ['foo'] },
  needsRole: { requireAnyUserRoles: ['Admins'] },
  needsNumber: { fields: { n: { type: Number, required: false } } },
  needsOption: { fields: { o: { options: ['a', 'b'], required: false } } },
  needsNickname: { requireUserKeys: ['nickname'] },
  twice: { rateLimit: { ...minute, requestCount: 2 } },
};
for (const [name, validator] of Object.entries(validators)) define(name, () => 'ran', validator);
beforeSave('Constant', () => {}, { fields: { x: { constant: true, default: 5 } } });
beforeSave('Once', () => {}, { rateLimit: { ...minute, requestCount: 1, errorResponseMessage: 'slower' } });
