// The same notifications in JavaScript: "cloud": "main.js" in the configuration of `roost serve`. See docs/push.md.
'use strict';

/** Sends a text to people, except the user who caused it. */
async function notify(request, text, people) {
  const users = people.filter(user => user && user.id !== request.user?.id);
  if (users.length === 0) return;
  const where = new Parse.Query(Parse.Installation).containedIn('user', users);
  const name = request.user?.get('username') ?? 'Someone';
  await Parse.Push.send(
    { where, data: { alert: `${name} ${text}`, badge: 'Increment', sound: 'default' } }, { useMasterKey: true });
}

Parse.Cloud.afterSave('Followers', async request => {
  if (!request.original) await notify(request, 'follows you', [request.object.get('followed')]);
});

Parse.Cloud.afterSave('Likes', async request => {
  if (request.original) return;
  const post = await request.object.get('post').fetch({ useMasterKey: true });
  await notify(request, 'likes your post', [post.get('user')]);
});

Parse.Cloud.afterSave('Messages', async request => {
  if (request.original) return;
  const session = await request.object.get('musicSession').fetch({ useMasterKey: true });
  const text = (request.object.get('message') ?? '').slice(0, 100);
  await notify(request, `writes: ${text}`, session.get('users') ?? []);
});
