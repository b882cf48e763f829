"""A mail server for tests: writes its port to FOLDER/port, and each email to a JSON file there.

With FOLDER/server.pem it speaks TLS, from the beginning or by STARTTLS (third argument), and takes emails from the user
`music` only, with the password `secret` (fourth argument `password`) or with the access token `secret` by the mechanism
that the argument names. With FOLDER/mute it takes emails, and ends connections in place of an answer. While FOLDER/stall
names a phase (RCPT, DATA, END or QUIT), it does not answer there, and FOLDER/stalled names the phase once it came.
"""

import asyncio
import base64
import email
import email.policy
import json
import os
import re
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

folder, port, security, login = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]


def write(name, text):
    with open(os.path.join(folder, name + ".new"), "w") as file:
        file.write(text)
    os.rename(os.path.join(folder, name + ".new"), os.path.join(folder, name))


async def stall(phase):
    if os.path.exists(os.path.join(folder, "stall")) and open(os.path.join(folder, "stall")).read() == phase:
        write("stalled", phase)
    while os.path.exists(os.path.join(folder, "stall")) and open(os.path.join(folder, "stall")).read() == phase:
        await asyncio.sleep(0.05)


class StallingSMTP(SMTP):
    async def smtp_DATA(self, arg):
        """Is a command of its own for the client, which waits for leave to send the email."""
        await stall("DATA")
        await super().smtp_DATA(arg)


class Keeper:
    """Keeps emails. It refuses senders and recipients such as `550-ann@…`, and emails about `554 refused`."""

    count = 0

    async def handle_MAIL(self, server, session, envelope, address, options):
        if refusal := re.match(r"([45]\d\d)-", address):
            return f"{refusal[1]} no such sender"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        await stall("RCPT")
        if refusal := re.match(r"([45]\d\d)-", address):
            return f"{refusal[1]} no such recipient"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_QUIT(self, server, session, envelope):
        await stall("QUIT")
        return "221 Bye"

    async def handle_DATA(self, server, session, envelope):
        await stall("END")
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        if refusal := re.search(r"([45]\d\d) refused", str(message["subject"])):
            return f"{refusal[1]} not this email"
        part = message.get_body(("plain",))
        html = message.get_body(("html",))
        Keeper.count += 1
        write(f"{Keeper.count:06}.mail", json.dumps({
            "sender": envelope.mail_from, "recipients": envelope.rcpt_tos, "subject": str(message["subject"]),
            "from": str(message["from"]), "text": part.get_content() if part else "",
            "html": html.get_content() if html else "", "raw": base64.b64encode(envelope.content).decode(),
        }))
        if os.path.exists(folder + "/mute"):
            server.transport.abort()
        return "250 taken"

    async def auth_XOAUTH2(self, server, arguments):
        """Google's and Microsoft's own."""
        return await self.check(server, arguments, rb"user=music\x01auth=Bearer secret\x01\x01")

    async def auth_OAUTHBEARER(self, server, arguments):
        """RFC 7628."""
        pattern = rb"n,a=music,\x01host=localhost\x01port=\d+\x01auth=Bearer secret\x01\x01"
        return await self.check(server, arguments, pattern)

    async def check(self, server, arguments, pattern):
        said = base64.b64decode(arguments[1]) if len(arguments) > 1 else await server.challenge_auth("")
        if isinstance(said, bytes) and re.fullmatch(pattern, said):
            return AuthResult(success=True)
        # Why, as these mechanisms tell it; the client acknowledges that, and is refused.
        await server.challenge_auth('{"status":"400","schemes":"Bearer","scope":"https://mail.example/"}')
        return AuthResult(success=False, handled=False)


async def main():
    loop = asyncio.get_running_loop()
    options, context = {}, None
    if security != "none":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder + "/server.pem")
        excluded = {"LOGIN", "PLAIN", "XOAUTH2", "OAUTHBEARER"} - ({"LOGIN", "PLAIN"} if login == "password" else {login})
        options = {"auth_required": True, "auth_exclude_mechanism": excluded, "authenticator": lambda server, session, envelope, mechanism, data: AuthResult(
            success=(data.login, data.password) == (b"music", b"secret"), handled=False)}
        if security == "starttls":
            options |= {"tls_context": context, "require_starttls": True}
        else:
            options["auth_require_tls"] = False
    # A port that was looked for may be somebody else's for the moment in which they look for one.
    for attempt in range(100):
        try:
            server = await loop.create_server(
                lambda: StallingSMTP(Keeper(), hostname="catcher", **options), "127.0.0.1", port,
                ssl=context if security == "tls" else None)
            break
        except OSError:
            if attempt == 99:
                raise
            await asyncio.sleep(0.1)
    write("port", str(server.sockets[0].getsockname()[1]))
    # The process that started it ends with the test, or dies: then nobody is its parent any more.
    parent = os.getppid()
    while os.getppid() == parent and not os.path.exists(os.path.join(folder, "stop")):
        await asyncio.sleep(0.1)


asyncio.run(main())
