import Crypto
import Foundation
import JSON
import Outgoing
import ParseModel
import Push
import ServerConfiguration
import Synchronization
import TestSupport
import Testing

/// The payloads of push services.
@Suite struct FormTests {
    @Test(
        "Converts push data to an APNs payload",
        arguments: [
            (#"{"alert":"x"}"#, #"{"aps":{"alert":"x"}}"#),
            (#"{"title":"t","alert":"x"}"#, #"{"aps":{"alert":{"body":"x","title":"t"}}}"#),
            (#"{"alert":{"loc-key":"k"},"title":"t"}"#, #"{"aps":{"alert":{"loc-key":"k","title":"t"}}}"#),
            (#"{"content-available":1,"mutable-content":"1"}"#, #"{"aps":{"content-available":1}}"#),
            (
                #"{"aps":{"sound":"s"},"alert":"x","threadId":"T"}"#,
                #"{"aps":{"sound":"s","alert":"x","thread-id":"T"}}"#
            ),
            (#"{"own":1,"priority":5,"push_type":"alert"}"#, #"{"own":1}"#),
            (#"{}"#, #"{}"#),
        ])
    func apple(data: String, body: String) throws {
        let object = try #require(JSONValue(parsing: Array(data.utf8)).objectValue)
        #expect(JSONValue.object(APNsForm.body(object)).text == body)
    }

    @Test(
        "Puts only valid device tokens into APNs paths",
        arguments: [
            ("00ff", "/3/device/00ff"), ("../x", nil), ("a", nil), ("ab\r\n", nil), ("xy", nil),
        ])
    func paths(token: String, path: String?) { #expect(APNsForm.path(token) == path) }

    @Test("Encrypts web push as in the example of RFC 8291")
    func encryption() throws {
        let key = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: #require(Base64URL.decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        let encryption = try #require(
            WebPushEncryption(
                p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                auth: "BTBZMqHH6r4Tts7J_aSIgg"))
        let record = try encryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8), key: key,
            salt: #require(Base64URL.decode("DGv6ra1nlYgDCS1FRnbzlw")))
        let expected =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl"
            + "95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        #expect(record == Base64URL.decode(expected))
    }

    @Test(
        "Maps APNs responses to outcomes",
        arguments: [
            (410, #"{"reason":"Unregistered","timestamp":5}"#, PushOutcome.dead("Unregistered", since: 5)),
            (400, #"{"reason":"BadDeviceToken"}"#, .unknownToken("BadDeviceToken")),
            (400, #"{"reason":"DeviceTokenNotForTopic"}"#, .otherApp("DeviceTokenNotForTopic")),
            (413, #"{"reason":"PayloadTooLarge"}"#, .refused("PayloadTooLarge")),
            (403, #"{"reason":"InvalidProviderToken"}"#, .unusable("InvalidProviderToken")),
            (503, "", .busy("status 503", after: 7)), (200, "", .sent),
        ])
    func answersOfApple(status: Int, body: String, outcome: PushOutcome) {
        #expect(APNsAnswer(status: status, retryAfter: 7, body: Array(body.utf8)).outcome == outcome)
    }

    @Test("Reuses an APNs provider token after 54 minutes, and renews it after 56")
    func providerTokens() throws {
        let token = try ProviderToken(
            key: P256.Signing.PrivateKey().pemRepresentation, keyId: "K", teamId: "T")
        let first = try token.text(at: 1_000_000)
        #expect(try token.text(at: 1_000_000 + 54 * 60) == first)
        #expect(try token.text(at: 1_000_000 + 56 * 60) != first)
    }

    @Test("Renews a rejected APNs provider token only once it is 20 minutes old")
    func refusedProviderTokens() throws {
        let token = try ProviderToken(
            key: P256.Signing.PrivateKey().pemRepresentation, keyId: "K", teamId: "T")
        let first = try token.text(at: 1_000_000)
        #expect(try token.text(at: 1_000_000 + 19 * 60, refused: first) == first)
        #expect(try token.text(at: 1_000_000 + 21 * 60, refused: first) != first)
    }

    private final class Clock: Sendable {
        private let time = Mutex(Date.now.timeIntervalSince1970 - 1800)
        var now: Double { time.withLock { $0 } }
        func move() { time.withLock { $0 = Date.now.timeIntervalSince1970 } }
    }

    @Test("Renews an expired APNs provider token once, and resends the rejected notifications")
    func expiredToken() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["ab": [.failure(403, "ExpiredProviderToken"), .good]]
        try await PushSink.run(manners) { sink in
            let file: JSONObject = ["appId": "a", "masterKey": "m", "push": ["ios": sink.apple("app.one")]]
            let push = try Configuration.load(file: file.serialized(), environment: [:], flags: []).0.push
            guard case .apple(let settings)? = push?.services["ios"]?.first else {
                Issue.record("there is no entry")
                return
            }
            let clock = Clock()
            let sender = try APNsSender(settings, "push.ios", in: "/", now: { clock.now }, report: { _ in })
            let content = PushContent(body: ["data": ["alert": "x"]])
            let message = PushMessage(content: content, data: content.data, id: "p", time: "")
            func send(_ tokens: [String]) async -> [PushOutcome] {
                var outcomes: [PushOutcome] = []
                let devices = tokens.map { PushDevice(objectId: $0, token: $0, type: "ios", app: "app.one") }
                await sender.send(message, to: devices) { outcomes += $0.map(\.outcome) }
                return outcomes
            }
            let first = await send(["ff"])
            #expect(first == [.sent])
            clock.move()
            let outcomes = await send((10..<30).map { "ab\($0)" })
            #expect(outcomes == Array(repeating: .sent, count: 20))
            #expect(sink.authorizations.count == 2 && sink.notifications.count == 41)
            await sender.shutdown()
        }
    }

    @Test("Ignores invalid retry delays", arguments: [Double.infinity, .nan, -1, 1e300])
    func times(seconds: Double) throws {
        let attempt = PushAttempt(device: PushDevice(objectId: "a", token: "t", type: "web"), entries: [])
        let next = try #require(attempt.later(.busy("x", after: seconds), maxTries: 5, after: seconds))
        #expect(next.due < .now + .seconds(60))
    }
}
