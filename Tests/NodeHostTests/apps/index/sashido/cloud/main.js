const { topSongs } = require('./songs');

Parse.Cloud.define('topSongs', topSongs);
Parse.Cloud.job('tidy', async request => request.message('tidied'));
