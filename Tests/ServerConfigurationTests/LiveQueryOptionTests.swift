import JSON
import ServerConfiguration
import Testing

@Suite struct LiveQueryOptionTests {
    private static func load(_ options: JSONObject) throws -> Configuration.LiveQuery {
        let file: JSONObject = (["appId": "a", "masterKey": "m", "port": 1400] as JSONObject).merging(options) { $1 }
        return try Configuration.load(file: file.serialized(), environment: [:], flags: []).0.liveQuery
    }

    @Test("Matches classNames as patterns for whole class names")
    func classNames() throws {
        let options = try Self.load(["liveQuery": ["classNames": ["Song", "Al.*", "_User"]]])
        for name in ["Song", "Album", "Al", "_User"] { #expect(options.publishes(Name(name)), "\(name)") }
        for name in ["Songs", "MySong", "XAlbum", "Al\nX", "User", ""] {
            #expect(!options.publishes(Name(name)), "\(name)")
        }
        #expect(options.isServed && options.missingOption == nil)
    }

    @Test("Enables live queries with a switch or server options, and reports which option is missing")
    func served() throws {
        #expect(try !Self.load([:]).isNeeded)
        let unnamed = try Self.load(["startLiveQueryServer": true])
        #expect(unnamed.isServed && unnamed.missingOption == "liveQuery.classNames")
        let unserved = try Self.load(["liveQuery": ["classNames": ["A"]], "startLiveQueryServer": false])
        #expect(!unserved.isServed && unserved.isPublished && unserved.missingOption == "startLiveQueryServer")
        let options = try Self.load([
            "liveQueryServerOptions": ["keyPairs": ["clientKey": "c"], "websocketTimeout": 5000, "port": 1400]
        ])
        #expect(options.isServed && options.pingInterval == 5000)
        let settings: JSONObject = ["startLiveQueryServer": false, "liveQueryServerOptions": [:]]
        #expect(try Self.load(settings).isServed)
        #expect(
            try told(settings).contains {
                $0.hasPrefix("option startLiveQueryServer has no effect: liveQueryServerOptions turns live queries on")
            })
        #expect(try !told(["startLiveQueryServer": false]).contains { $0.contains("startLiveQueryServer") })
        #expect(options.keyPairs.map(\.name) == ["clientKey"] && options.keyPairs.map(\.key) == ["c"])
        #expect(try Self.load([:]).pingInterval == 10_000)
        // Redis options are accepted, although Roost doesn't need them.
        #expect(try Self.load(["liveQuery": ["classNames": ["A"], "redisURL": "redis://h"]]).isPublished)
    }

    @Test(
        "Rejects invalid and unsupported options by name",
        arguments: [
            (["liveQuery": ["classNames": ["("]]], "option liveQuery.classNames"),
            (["liveQuery": ["classNames": [7]]], "option liveQuery.classNames"),
            (["liveQueryServerOptions": ["port": 1401]], "option liveQueryServerOptions.port"),
            (["liveQueryServerOptions": ["appId": "b"]], "option liveQueryServerOptions.appId"),
            (["liveQueryServerOptions": ["keyPairs": ["clientKey": 7]]], "option liveQueryServerOptions.keyPairs"),
            (
                ["liveQueryServerOptions": ["websocketTimeout": 1]],
                "liveQueryServerOptions.websocketTimeout must be between 100 and"
            ),
        ] as [(JSONObject, String)])
    func refusals(options: JSONObject, text: String) {
        let error = #expect(throws: ConfigurationError.self) { try Self.load(options) }
        #expect(error?.message.hasPrefix(text) == true, "\(error?.message ?? "")")
    }
}
