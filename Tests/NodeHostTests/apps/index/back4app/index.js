// Back4App's own setup of cloud/main.js, cloud/app.js and public.
const path = require('path');
const express = require('express');
const { ParseServer } = require('parse-server');

global.app = express();
const server = new ParseServer({
  databaseURI: process.env.DATABASE_URI || 'mongodb://localhost:27017/dev',
  cloud: path.join(__dirname, 'cloud/main.js'),
  appId: process.env.APP_ID || 'testApp',
  masterKey: process.env.MASTER_KEY || 'testMaster',
  serverURL: process.env.SERVER_URL || 'http://localhost:1337/parse',
  liveQuery: { classNames: ['Posts'] },
});

app.use('/parse', server);
app.use('/', express.static(path.join(__dirname, 'public')));
require('./cloud/app.js');

const port = process.env.PORT || 1337;
const httpServer = require('http').createServer(app);
httpServer.listen(port, () => console.log(`parse-server-example running on port ${port}.`));
ParseServer.createLiveQueryServer(httpServer);
