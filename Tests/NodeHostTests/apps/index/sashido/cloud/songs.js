exports.topSongs = async ({ params, user }) => {
  const query = new Parse.Query('Song').descending('plays').limit(params.limit || 3);
  const songs = await query.find({ sessionToken: user && user.getSessionToken() });
  return songs.map(song => song.get('name'));
};
