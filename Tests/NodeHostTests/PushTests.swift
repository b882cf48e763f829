import JSON
import TestSupport
import Testing

@Suite("Push notifications from JavaScript cloud code")
struct CodePushTests {
    private static let code = """
        Parse.Cloud.define('tell', async ({ params }) => {
            const where = new Parse.Query(Parse.Installation).equalTo('deviceToken', params.token);
            const expiration_time = new Date(Date.now() + 3600000);
            return Parse.Push.send({ where, expiration_time, data: { alert: params.text } }, { useMasterKey: true });
        });
        Parse.Cloud.define('status', async ({ params }) => {
            const row = await Parse.Push.getPushStatus(params.id, { useMasterKey: true });
            return { status: row.get('status'), sent: row.get('numSent') };
        });
        Parse.Cloud.define('both', () => Parse.Push.send(
            { channels: ['a'], expiration_time: new Date(), expiration_interval: 5, data: {} }, { useMasterKey: true }));
        Parse.Cloud.define('unallowed', () => Parse.Push.send({ channels: ['a'], data: { alert: 'x' } }));
        Parse.Cloud.define('odd', () => Parse.Push.send({ channels: 5, data: { alert: 'x' } }, { useMasterKey: true }));
        """

    @Test("Parse.Push.send notifies matching installations, returns the status id and rejects invalid options")
    func send() async throws {
        try await PushSink.run { sink in
            try await CloudApp.serve(["main.js": Self.code], ["push": ["ios": sink.apple("app.one")]]) { server, _ in
                for token in ["ab01", "ab02"] {
                    _ = try await server.send(
                        "POST", "/installations",
                        [
                            "deviceType": "ios", "deviceToken": .string(token), "installationId": .string(token),
                            "appIdentifier": "app.one",
                        ], as: .master
                    ).succeeded()
                }
                let sent = try await server.call("tell", ["token": "ab02", "text": "hello"])
                let id = try #require(sent["result"]?.stringValue, "\(sent.text)")
                let hasEnded = try await eventually {
                    try await server.call("status", ["id": .string(id)])["result"] == [
                        "status": "succeeded", "sent": 1,
                    ]
                }
                #expect(hasEnded)
                #expect(sink.notifications.map(\.token) == ["ab02"])
                #expect(sink.notifications.first?.body == ["aps": ["alert": "hello"]])
                #expect(sink.notifications.first?.headers["apns-expiration"] != nil)
                let both = try await server.call("both")
                #expect(both.error == "expiration_time and expiration_interval cannot both be set.", "\(both.text)")
                #expect(try await server.call("unallowed").status != 200)
                let odd = try await server.call("odd")
                #expect(odd.code == 115 && odd.error == "channels must be an array of strings", "\(odd.text)")
            }
        }
    }
}
