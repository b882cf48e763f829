const express = require('express');
const { ParseServer } = require('parse-server');

const app = express();
const common = { masterKey: 'testMaster', allowClientClassCreation: true };

const music = new ParseServer({
  ...common, appId: 'testApp', serverURL: 'http://localhost:1337/music', cloud: Parse => {
    Parse.Cloud.define('name', () => 'music');
  },
  auth: { music: { validateAuthData: async () => {} } },
});
const videos = new ParseServer({
  ...common, appId: 'videos', serverURL: 'http://localhost:1337/videos', cloud: Parse => {
    Parse.Cloud.define('name', () => 'videos');
  },
  auth: { videos: { validateAuthData: async () => {} } },
});

app.use('/music', music);
app.use('/videos', videos);
app.get('/apps', (req, res) => res.json(['music', 'videos']));
app.listen(1337);
