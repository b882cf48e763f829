const express = require('express');

const app = express();
app.use((req, res, next) => {
  res.setHeader('X-App', 'sashido');
  next();
});
app.get('/health', (req, res) => res.send('ok'));
app.post('/webhook', express.json(), async (req, res) => {
  const song = new Parse.Object('Song');
  await song.save({ name: req.body.name, plays: req.body.plays }, { useMasterKey: true });
  res.status(201).json({ objectId: song.id });
});

module.exports = app;
