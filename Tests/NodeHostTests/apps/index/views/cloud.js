Parse.Cloud.define('greet', request => `Hello ${request.params.name}`, { fields: ['name'], requireUser: false });
