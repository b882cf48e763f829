// The host provides `app`, an Express application.
app.set('views', `${__dirname}/../views`);

app.get('/hello', async (req, res) => {
  const posts = await new Parse.Query('Posts').count({ useMasterKey: true });
  res.status(200).json({ message: 'Hello from Express!', posts });
});
