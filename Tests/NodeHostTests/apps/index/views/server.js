const path = require('path');
const express = require('express');
const { ParseServer } = require('parse-server');
const config = require('./config');

async function main() {
  const app = express();
  app.set('view engine', 'ejs');
  app.set('views', path.join(__dirname, 'views'));
  app.engine('ejs', require('ejs').renderFile);

  const server = new ParseServer(config);
  await server.start();
  app.use(config.mountPath, server.app);

  // Body parsers follow the API, which reads its bodies itself.
  app.use(express.json({ limit: '1mb' }));
  app.use(express.urlencoded({ extended: true }));
  app.use('/static', express.static(path.join(__dirname, 'public')));

  app.get('/songs', async (req, res) => {
    const songs = await new Parse.Query('Song').ascending('name').find();
    res.render('songs', { title: 'Songs & more', names: songs.map(song => song.get('name')).join(', ') });
  });
  app.post('/songs', async (req, res) => {
    await new Parse.Object('Song').save({ name: req.body.name });
    res.redirect('/songs');
  });
  app.get('/fails', () => {
    throw new Error('this page is broken');
  });
  app.use((error, req, res, next) => res.status(500).send(`sorry: ${error.message}`));
  app.listen(config.port);
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
