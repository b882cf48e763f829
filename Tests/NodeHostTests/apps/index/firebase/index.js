const express = require('express');
const { default: ParseServer } = require('parse-server');
const firebase = require('./auth/firebase');

const app = express();
const api = new ParseServer({
  appId: 'testApp',
  masterKey: 'testMaster',
  cloud: `${__dirname}/cloud/main.js`,
  serverURL: 'http://localhost:1337/parse',
  auth: { firebase, anonymous: { enabled: true } },
  allowExpiredAuthDataToken: false,
});
api.start().then(() => {
  app.use('/parse', api.app);
  app.get('/me', async (req, res) => {
    const sessionToken = req.headers['x-parse-session-token'];
    const session = sessionToken && await new Parse.Query('_Session').equalTo('sessionToken', sessionToken)
      .include('user').first({ useMasterKey: true });
    if (!session) return res.status(401).json({ error: 'unauthorized' });
    return res.json({ id: session.get('user').id });
  });
  app.listen(1337);
}).catch(console.error);
