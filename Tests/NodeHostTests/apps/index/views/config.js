const mountPath = process.env.PARSE_MOUNT || '/api';

module.exports = {
  appId: 'testApp',
  masterKey: 'testMaster',
  serverURL: `http://localhost:1337${mountPath}`,
  mountPath,
  port: parseInt(process.env.PORT, 10) || 1337,
  cloud: () => require('./cloud'),
  allowClientClassCreation: true,
  maxUploadSize: '20mb',
};
