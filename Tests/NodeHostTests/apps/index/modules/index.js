import express from 'express';
import { createServer } from 'node:http';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Parse from 'parse/node.js';
import { ParseServer } from 'parse-server';
import { users } from './routes.js';
import * as guest from './auth/guest.js';

const here = dirname(fileURLToPath(import.meta.url));

export const config = {
  appId: process.env.APP_ID || 'testApp',
  masterKey: process.env.MASTER_KEY || 'testMaster',
  cloud: resolve(here, 'cloud/main.js'),
  serverURL: process.env.SERVER_URL || 'http://localhost:1337/parse',
  auth: { guest: { ...guest, door: 'front' } },
  liveQuery: { classNames: ['Posts', 'Comments'] },
};

const app = express();
const server = new ParseServer(config);
await server.start();
app.use('/parse', server.app);
app.use('/users', users(Parse));

const httpServer = createServer(app);
httpServer.listen(process.env.PORT || 1337, () => console.log('listening'));
await ParseServer.createLiveQueryServer(httpServer);
