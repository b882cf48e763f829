import JSON
import ServerConfiguration
import Testing

/// The option `push` in all formats used with parse-server.
@Suite struct PushOptionTests {
    private static let token: JSONValue = ["key": "k.p8", "keyId": "K", "teamId": "T"]

    private static func load(_ push: JSONValue, environment: [String: String] = [:]) throws -> Configuration.Push? {
        let file: JSONObject = ["appId": "a", "masterKey": "m", "push": push]
        return try Configuration.load(file: file.serialized(), environment: environment, flags: []).0.push
    }

    private static func apple(_ entries: [Configuration.Push.Service]?) -> ApplePush? {
        guard case .apple(let entry)? = entries?.first else { return nil }
        return entry
    }

    @Test("Reads one or several entries with tokens, certificates or Firebase, directly or within an adapter")
    func shapes() throws {
        let one: JSONValue = ["ios": ["token": Self.token, "topic": "a.b", "production": true]]
        let adapters: [JSONValue] = [
            one, ["adapter": ["module": "@parse/push-adapter", "options": one]],
            ["adapter": ["module": "parse-server-push-adapter", "options": one]],
        ]
        for push in adapters {
            let entry = try #require(Self.apple(Self.load(push)?.services["ios"]))
            #expect(entry.topic == "a.b" && entry.isProduction && entry.host == "api.push.apple.com")
            #expect(entry.port == 443 && entry.timeLimit == 5000 && entry.checksCertificate)
        }
        let old = try Self.load([
            "ios": [
                ["pfx": "dev.p12", "passphrase": "", "bundleId": "a.b", "production": false],
                ["pfx": "prod.p12", "bundleId": "a.b", "production": true],
            ], "osx": ["cert": "c.pem", "key": "k.pem", "bundleId": "a.c", "port": "2197"],
        ])
        #expect(old?.services["ios"]?.count == 2)
        let mac = try #require(Self.apple(old?.services["osx"]))
        #expect(mac.port == 2197 && mac.host == "api.sandbox.push.apple.com")
        let firebase = try Self.load(["ios": ["firebaseServiceAccount": "f.json"]])
        var settings: FirebasePush?
        if case .firebase(let entry)? = firebase?.services["ios"]?.first { settings = entry }
        #expect(settings?.isForApple == true && settings?.endpoint == "https://fcm.googleapis.com")
    }

    @Test("Reads all push options from PARSE_SERVER_PUSH")
    func environment() throws {
        let text =
            #"{"expo":{"accessToken":"x"},"queueOptions":{"batchSize":50},"keepStatusDays":30,"dryRun":"provider"}"#
        let file: JSONObject = ["appId": "a", "masterKey": "m"]
        let push = try Configuration.load(
            file: file.serialized(), environment: ["PARSE_SERVER_PUSH": text], flags: []
        ).0.push
        #expect(push?.batchSize == 50 && push?.keepStatusDays == 30 && push?.serves("expo") == true)
    }

    @Test(
        "Rejects invalid and unsupported settings and says why",
        arguments: [
            (#"{"winrt":{}}"#, "push.winrt"),
            (#"{"ios":"x"}"#, "APNS Configuration is invalid"),
            (#"{"ios":{"topic":"a"}}"#, "APNS Configuration is invalid"),
            (#"{"ios":{"token":{"key":"k","keyId":"K","teamId":"T"}}}"#, "topic is missing for {\"token\":\"…\"}"),
            (#"{"ios":{"token":{"key":"k","keyId":"K","teamId":"T"},"topic":"a","proxy":{"host":"h"}}}"#, "proxy"),
            (#"{"android":{"senderId":"1","apiKey":"k"}}"#, "senderId and apiKey are for GCM"),
            (#"{"android":"x"}"#, "FCM Configuration is invalid"),
            (#"{"web":{}}"#, "WEB Push Configuration is invalid"),
            (#"{"expo":1}"#, "EXPO Push Configuration is invalid"),
            (#"{"adapter":"@parse/onesignal-push-adapter"}"#, "is not supported"),
            (#"{"adapter":{"module":"parse-server-sns-adapter"}}"#, "is not supported"),
            (#"{"delivery":"never"}"#, "must be atLeastOnce or atMostOnce"),
            (#"{"queueOptions":{"batchSize":0}}"#, "batchSize must be between 1 and 10000"),
            (#"{"keepStatusDays":-1}"#, "keepStatusDays must be 0 or more"),
            (#"{"dryRun":"x"}"#, "dryRun must be none or provider"),
            (#"{"expo":{"endpoint":"ftp://x"}}"#, "must begin with https:// or http://"),
        ])
    func refusals(push: String, words: String) throws {
        let value = try JSONValue(parsing: Array(push.utf8))
        #expect {
            try Self.load(value)
        } throws: { error in
            "\((error as? ConfigurationError)?.message ?? "\(error)")".contains(words)
        }
    }
}
