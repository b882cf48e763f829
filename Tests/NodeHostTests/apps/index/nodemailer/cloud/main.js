Parse.Cloud.define('invite', async ({ params }) => {
  const { messageId } = await Parse.Cloud.sendEmail({ to: params.to, subject: 'Come in', text: 'A song' });
  return messageId;
});
