// Runs an app's cloud/main.js or its own index.js for the server that started this process: node host.mjs <main.js>

import path from 'node:path';

import { Adapters } from './adapters.mjs';
import { drainRoutes, runApp } from './app.mjs';
import { Calls } from './calls.mjs';
import { Connection } from './connection.mjs';
import { LagMeter } from './lag.mjs';
import { Log } from './logging.mjs';
import { adaptRequire, loadMain } from './modules.mjs';
import { CallerRecords } from './records.mjs';
import { Registry } from './registry.mjs';
import { Routes } from './routes.mjs';
import { loadSDK, routeRequests } from './sdk.mjs';
import { installCloud } from './services.mjs';
import { installAdapterStandIns } from './standIns.mjs';
import { currentCall } from './tracking.mjs';
import { startWatchdog } from './watchdog.mjs';

const { ROOST_CLOUD_SOCKET: socket, ROOST_CLOUD_SECRET: secret, ROOST_CLOUD_SERVER: server } = process.env;
for (const name of ['ROOST_CLOUD_SOCKET', 'ROOST_CLOUD_SECRET', 'ROOST_CLOUD_SERVER']) delete process.env[name];
const main = process.argv[2];
// The app sees its own file on the command line, as if it had been started directly.
process.argv.splice(1, 1);

startWatchdog(Number(server));
const connection = await Connection.open(socket, secret);
const settings = await connection.once('welcome');
connection.limit = settings.limit;
const log = new Log(connection);
log.captureConsole();
log.captureRejections();

try {
  if (!settings.app) adaptRequire(main);
  const Parse = loadSDK(main, settings);
  routeRequests(Parse, connection, currentCall);
  const registry = new Registry(log);
  const adapters = new Adapters(log, connection);
  if (!settings.app) installAdapterStandIns(() => adapters.loading > 0);
  installCloud(Parse, registry, connection, log, settings, adapters);
  const calls = new Calls(connection, registry, log, settings);
  const lag = new LagMeter();
  connection.on('ping', () => connection.send('pong', { lagMs: lag.take() }));
  const records = new CallerRecords(connection);
  connection.on('call', call => calls.carryOut(records.complete(call)));
  connection.on('adapter', call => calls.carryOut(records.complete(call), () => adapters.perform(call)));
  connection.on('validate', call => calls.validate(records.complete(call)));
  connection.on('cancel', ({ id }) => calls.cancel(id));
  connection.on('drain', async () => {
    await drainRoutes();
    connection.send('drained', {});
  });
  connection.on('address', ({ serverURL, masterKey }) => {
    Parse.serverURL = serverURL;
    if (masterKey) Parse.CoreManager.set('MASTER_KEY', masterKey);
  });
  const { app, folder, mail, providers = {} } = settings;
  // An app's packages may be in its file's folder instead of the current one.
  const folders = app ? [folder, path.dirname(main)] : [folder];
  const addAdapters = async options => {
    for (const [name, entry] of Object.entries(providers)) await adapters.add(name, entry ?? options?.auth?.[name], folders);
    for (const name of app?.functions ?? []) adapters.addOption(name, options);
    if (mail) await adapters.addMail(mail === true ? options?.emailAdapter : mail, folders);
  };
  const routes = settings.routes && new Routes(settings.routes, log);
  const opened = () => connection.send('app', {});
  if (app) {
    await runApp(main, app, log, addAdapters, opened, routes);
  } else {
    await addAdapters();
    routes?.offerApp();
    if (settings.hasMain) await loadMain(main);
    await routes?.load();
    routes?.listen(opened);
  }
  if (settings.workers > 1 && process.getActiveResourcesInfo().includes('Timeout')) {
    log.write('warn', 'The app has timers, which run in each of the processes of cloudWorkers. To run code once, schedule a job in _JobSchedule.');
  }
  connection.send('hello', {
    protocol: 1, pid: process.pid, node: process.versions.node, sdk: Parse.CoreManager.get('VERSION'),
    auth: adapters.describe(), ...registry.describe(),
  });
  announce(registry);
} catch (error) {
  const stack = error instanceof Error ? error.stack ?? String(error) : String(error);
  connection.send('failed', { stack });
  connection.end(1);
}

/** Reports later registrations to the server. Simultaneous ones are combined. */
function announce(registry) {
  let isPending = false;
  registry.changed = () => {
    if (isPending) return;
    isPending = true;
    queueMicrotask(() => {
      isPending = false;
      connection.send('register', registry.describe());
    });
  };
}
