Parse.Cloud.beforeSave(Parse.User, ({ object, original }) => {
  if (!original && object.get('authData') && object.get('authData').firebase) object.set('displayName', 'from Firebase');
});
Parse.Cloud.define('whoami', ({ user }) => user && user.id, { requireUser: true });
