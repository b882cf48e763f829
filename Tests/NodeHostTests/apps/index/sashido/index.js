const http = require('http');
const express = require('express');
const ParseServer = require('parse-server').ParseServer;
const S3Adapter = require('parse-server').S3Adapter;

var databaseUri = process.env.DATABASE_URI || process.env.MONGODB_URI;
if (!databaseUri) {
  console.log('DATABASE_URI not specified, falling back to localhost.');
}

var options = {
  databaseURI: databaseUri || 'mongodb://localhost:27017/dev',
  cloud: process.env.CLOUD_CODE_MAIN || __dirname + '/cloud/main.js',
  appId: process.env.APP_ID || 'testApp',
  masterKey: process.env.MASTER_KEY || 'testMaster',
  serverURL: process.env.SERVER_URL || 'http://localhost:1337/1/',
  liveQuery: { classNames: ['MusicSession', 'Messages'] },
  websocketTimeout: 10 * 1000,
};
if (process.env.S3_BUCKET) options.filesAdapter = new S3Adapter(process.env.S3_BUCKET, { directAccess: true });
var api = new ParseServer(options);

var app = express();
app.use(process.env.PARSE_MOUNT || '/1', api);
app.use(require('./cloud/app'));

var port = process.env.PORT || 1337;
var httpServer = http.createServer(app);
httpServer.listen(port, '0.0.0.0', function() {
  console.log('running on port ' + httpServer.address().port + '.');
});
ParseServer.createLiveQueryServer(httpServer, { appId: 'testApp' });
