const { Parse } = require('parse/node');
const admin = require('firebase-admin');

admin.initializeApp({ credential: admin.credential.cert(require('./account.json')) });

function validateAuthData(authData) {
  return admin.auth().verifyIdToken(authData.access_token)
    .then(decoded => {
      if (decoded.uid === authData.id) return;
      throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'Firebase auth is invalid for this user.');
    })
    .catch(error => {
      if (error instanceof Parse.Error) throw error;
      throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, 'Firebase auth not found.');
    });
}

const validateAppId = () => Promise.resolve();

module.exports = { validateAppId, validateAuthData };
