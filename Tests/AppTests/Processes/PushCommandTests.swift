import Foundation
import JSON
import Subprocess
import TestSupport
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

@Suite("Push on the command line", .timeLimit(.minutes(10)))
struct PushCommandTests {
    private static func run(_ arguments: [String], _ options: JSONObject) async throws -> (status: Bool, text: String) {
        let file = FileManager.default.temporaryDirectory.path + "/roost-push-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data(options.serialized()).write(to: URL(fileURLWithPath: file))
        let result = try await Subprocess.run(
            .path(FilePath(try CrashServer.findBinary())), arguments: Arguments(["push"] + arguments + [file]),
            output: .string(limit: 65_536), error: .string(limit: 65_536))
        return (result.terminationStatus.isSuccess, result.standardOutput + result.standardError)
    }

    @Test("roost push check reports whether keys work and services respond, and sends nothing")
    func check() async throws {
        try await WebhookServer.run { tokens in
            tokens.on("token") { _ in .text(#"{"access_token":"access-1","expires_in":3599}"#) }
            try await PushSink.run { sink in
                let good: JSONObject = [
                    "ios": sink.apple("app.one"), "android": sink.android(tokens: tokens.url("token")),
                ]
                let fine = try await Self.run(["check"], ["push": .object(good)])
                #expect(fine.status, "\(fine.text)")
                #expect(fine.text.contains("ok      ios  APNs app.one sandbox  signing with the key"), "\(fine.text)")
                #expect(fine.text.contains("localhost:\(sink.port) responds, and accepts 100 requests at once"))
                #expect(fine.text.contains("ok      android  FCM songs  Google issues an access token"))
                tokens.on("token") { _ in .text(#"{"error":"invalid_grant"}"#, status: 400) }
                let port = try await FreePort.find()
                let bad: JSONObject = [
                    "ios": sink.identity.apple("app.one", port: port), "tvos": sink.apple("app.tv", ["token": nil]),
                    "android": sink.android(tokens: tokens.url("token")),
                    "osx": sink.apple(
                        "app.mac", ["token": ["key": "no.p8", "keyId": "K", "teamId": "T"]]),
                ]
                let refused = try await Self.run(["check"], ["push": .object(bad)])
                #expect(!refused.status && refused.text.contains("APNS Configuration is invalid"), "\(refused.text)")
                var readable = bad
                readable["tvos"] = nil
                let failed = try await Self.run(["check"], ["push": .object(readable)])
                #expect(!failed.status, "\(failed.text)")
                #expect(
                    failed.text.contains(
                        "failed  osx  read the keys: option push.osx.token.key is neither a key or "
                            + "certificate nor a readable file"))
                #expect(
                    failed.text.contains(
                        "failed  ios  APNs app.one sandbox  localhost:\(port) responds: no connection"))
                #expect(
                    failed.text.contains(
                        "Google issues an access token: no access token: Google's token service responded with "
                            + "status 400 (invalid_grant)"))
                #expect(sink.tokens.isEmpty)
            }
        }
        let without = try await Self.run(["check"], [:])
        #expect(!without.status && without.text.contains("the option push is not set"), "\(without.text)")
    }

    @Test("roost push test sends one notification to a token or installation and prints the result")
    func test() async throws {
        try await PushSink.run { sink in
            let push: JSONValue = ["ios": [sink.apple("app.two"), sink.apple("app.one")]]
            let sent = try await Self.run(["test", "ios:ab01"], ["push": push])
            #expect(sent.status && sent.text.contains("ok      ios  APNs app.two sandbox"), "\(sent.text)")
            #expect(sink.notifications.map(\.token) == ["ab01"])
            let bad = try await Self.run(["test", "ios:bad0"], ["push": push])
            #expect(!bad.status && bad.text.contains("send a notification: BadDeviceToken"), "\(bad.text)")
            let none = try await Self.run(["test", "android:x"], ["push": push])
            #expect(!none.status && none.text.contains("the option push has no entry for devices of type android"))
            // An unreachable service leads to a time-out.
            let away: JSONValue = ["ios": sink.identity.apple("app.one", port: try await FreePort.find())]
            let unreached = try await Self.run(["test", "ios:ab01"], ["push": away])
            #expect(!unreached.status, "\(unreached.text)")
            #expect(unreached.text.contains("send a notification: no connection"), "\(unreached.text)")
            sink.forget()
            try await TestServer.run { server in
                let device = try await server.send(
                    "POST", "/installations",
                    [
                        "deviceType": "ios", "deviceToken": "ab02", "installationId": "i", "appIdentifier": "app.one",
                    ], as: .master
                ).succeeded().string("objectId")
                let options: JSONObject = ["push": push, "databaseURI": .string(server.databaseURI)]
                let reached = try await Self.run(["test", device], options)
                #expect(reached.status && reached.text.contains("APNs app.one sandbox"), "\(reached.text)")
                #expect(sink.notifications.map(\.token) == ["ab02"])
                let missing = try await Self.run(["test", "nosuch"], options)
                #expect(!missing.status && missing.text.contains("no installation with objectId nosuch"))
            }
        }
    }
}
