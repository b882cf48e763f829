import { shout } from './shout.js';

Parse.Cloud.define('shout', ({ params }) => shout(params.text));
Parse.Cloud.beforeSave('Shouts', ({ object }) => {
  object.set('text', shout(object.get('text') ?? ''));
});
