const express = require('express');
const { ParseServer } = require('parse-server');
const createMailer = require('./mail/NodemailerAdapter');

(async () => {
  const mailer = createMailer({
    host: 'smtp.example.com', port: 587, auth: { user: 'postman', pass: process.env.SMTP_PASSWORD }, from: 'music@m.example',
  });
  const app = express();
  const server = new ParseServer({
    appName: 'Music', appId: 'testApp', masterKey: 'testMaster', cloud: `${__dirname}/cloud/main.js`,
    serverURL: 'http://localhost:1337/parse', publicServerURL: 'http://localhost:1337/parse',
    verifyUserEmails: true, emailAdapter: mailer,
  });
  await server.start();
  app.use('/parse', server.app);
  app.post('/contact', express.urlencoded({ extended: false }), async (req, res) => {
    const sent = await mailer.sendMail({ to: 'team@m.example', subject: req.body.subject, html: '' });
    res.json(sent.accepted);
  });
  app.listen(1337);
})();
