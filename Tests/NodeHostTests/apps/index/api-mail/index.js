const path = require('path');
const express = require('express');
const { ParseServer } = require('parse-server');
const { ApiPayloadConverter } = require('parse-server-api-mail-adapter');

const template = name => ({
  subjectPath: path.join(__dirname, `templates/${name}_subject.txt`),
  textPath: path.join(__dirname, `templates/${name}.txt`),
  htmlPath: path.join(__dirname, `templates/${name}.html`),
  localeCallback: async user => user && user.get('locale'),
  placeholderCallback: ({ user, placeholders }) => ({ greeting: `Dear ${user.get('username')} of ${placeholders.appName || 'ours'}` }),
});

const api = new ParseServer({
  appId: 'testApp', masterKey: 'testMaster', appName: 'Music', cloud: path.join(__dirname, 'cloud/main.js'),
  serverURL: 'http://localhost:1337/parse', publicServerURL: 'http://localhost:1337/parse',
  verifyUserEmails: false,
  emailAdapter: {
    module: 'parse-server-api-mail-adapter',
    options: {
      sender: 'music@m.example',
      templates: { passwordResetEmail: template('reset'), invitation: template('invitation') },
      apiCallback: async ({ payload, locale }) => {
        const { from, to, subject, text, html } = ApiPayloadConverter.mailgun(payload);
        console.log(`mailgun ${locale} from ${from} to ${to}: ${subject}: ${text.replace(/http\S+/, 'LINK')}`);
        console.log(`payload ${Object.keys(payload)}: ${html.replace(/http[^"]+/, 'LINK')}`);
      },
    },
  },
});

const app = express();
app.use('/parse', api);
app.get('/status', (req, res) => res.json({ status: 'ok' }));
app.listen(1337);
