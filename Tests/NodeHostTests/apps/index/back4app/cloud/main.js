require('./functions.js');

Parse.Cloud.beforeSave('Posts', request => {
  if (!request.object.get('caption')) request.object.set('caption', 'untitled');
});
