const { ParseServer } = require('parse-server');

const options = {
  appId: 'testApp',
  masterKey: 'testMaster',
  serverURL: 'http://localhost:1337/parse',
  port: 1337,
  mountPath: '/parse',
  startLiveQueryServer: true,
  liveQuery: { classNames: ['Posts'] },
  auth: { pin: { module: class Pin {
    constructor(options) { this.length = options.length; }
    async validateAuthData({ pin }) {
      if (pin.length !== this.length) throw new Error(`A PIN has ${this.length} digits.`);
    }
  }, options: { length: 4 } } },
  async cloud(Parse) {
    await Promise.resolve();
    Parse.Cloud.define('double', ({ params }) => params.number * 2);
    Parse.Cloud.afterSave('Posts', async ({ object, context }) => {
      if (!context.counted) await object.save({ counted: 1 }, { useMasterKey: true, context: { counted: true } });
    });
  },
};

ParseServer.startApp(options).then(server => console.log(`started ${server.config.appId}`));
