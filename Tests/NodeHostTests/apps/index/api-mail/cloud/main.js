Parse.Cloud.define('invite', async ({ user }) => {
  await Parse.Cloud.sendEmail({ templateName: 'invitation', placeholders: { song: 'Hyperballad' }, user });
  return 'invited';
}, { requireUser: true });
