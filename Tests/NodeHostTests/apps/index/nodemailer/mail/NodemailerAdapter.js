const nodemailer = require('nodemailer');

class NodemailerAdapter {
  constructor({ from, ...transport }) {
    this.from = from;
    this.transporter = nodemailer.createTransport(transport);
  }

  async sendMail({ to, subject, text, html }) {
    return this.transporter.sendMail({ from: this.from, to, subject, text, html });
  }

  sendVerificationEmail({ link, appName, user }) {
    return this.sendMail({
      to: user.get('email'), subject: `Welcome to ${appName}`, html: `<a href="${link}">${user.get('username')}</a>`,
    });
  }
}

module.exports = options => new NodemailerAdapter(options);
