import Foundation
import JSON
import TestSupport
import Testing

/// HTTP/2 connections to push services, and their failures.
@Suite struct PushConnectionTests {
    @Test(
        "Refused streams, single-stream connections and GOAWAY neither duplicate nor lose notifications",
        arguments: [(100, 25, nil), (100, 100, nil), (100, nil, 10), (1, nil, nil)] as [(Int, Int?, Int?)])
    func connections(streams: Int, goAway: Int?, refuses: Int?) async throws {
        var manners = PushSink.Manners()
        manners.streams = streams
        manners.requestsBeforeGoAway = goAway
        manners.refusesEvery = refuses
        try await PushFixture.run(manners, ["queueOptions": ["batchSize": 50]]) { server, sink in
            try await PushFixture.fill(server, 260)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 260 && row["status"] == "succeeded", "\(row.text)")
            #expect(Set(sink.tokens).count == 260)
            #expect(sink.tokens.count == 260)
            if streams == 1 { #expect(sink.maxStreams == 1) }
            #expect(sink.authorizations.count == 1)
        }
    }

    @Test("Uses more streams once the service raises its limit after the first response")
    func widened() async throws {
        var manners = PushSink.Manners()
        manners.streams = 1
        manners.streamsAfterFirst = 100
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.fill(server, 120)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 120 && row["numFailed"] == nil, "\(row.text)")
            #expect(sink.tokens.count == 120)
            #expect((2...100).contains(sink.maxStreams))
        }
    }

    @Test("A push stays running while the service is unreachable, and then reaches each device once")
    func unreachable() async throws {
        let identity = try PushSink.Identity()
        let port = try await FreePort.find()
        let push: JSONObject = ["ios": identity.apple("app.one", port: port)]
        try await TestServer.run(["push": .object(push)]) { server in
            try await PushFixture.fill(server, 60)
            let answer = try await server.send("POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            var row = JSONValue.null
            let isRunning = try await eventually {
                row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master).json
                return row["status"] == "running"
            }
            #expect(isRunning)
            try await Task.sleep(for: .seconds(20))
            row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master).json
            #expect(row["status"] == "running" && row["numFailed"] == nil && row["numSent"] == 0, "\(row.text)")
            try await PushSink.run(identity: identity, port: port) { sink in
                let row = try await PushFixture.row(server, id)
                #expect(row["numSent"] == 60 && row["numFailed"] == nil, "\(row.text)")
                #expect(sink.tokens.count == 60)
            }
        }
    }

    @Test("An unreachable entry doesn't delay another entry of the same device type")
    func oneUnreachable() async throws {
        let port = try await FreePort.find()
        try await PushSink.run { sink in
            let push: JSONObject = ["ios": [sink.identity.apple("app.one", port: port), sink.apple("app.two")]]
            try await TestServer.run(["push": .object(push)]) { server in
                try await PushFixture.fill(server, 1500)
                try await PushFixture.device(server, "ab02", "ios", ["appIdentifier": "app.two"])
                let first = try await server.send(
                    "POST", "/push", ["where": ["appIdentifier": "app.one"], "data": ["alert": "x"]], as: .master)
                let id = try #require(first.headers["x-parse-push-status-id"])
                let isRunning = try await eventually {
                    try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master)["status"] == "running"
                }
                #expect(isRunning)
                let row = try await PushFixture.push(
                    server, ["where": ["appIdentifier": "app.two"], "data": ["alert": "y"]])
                #expect(row["numSent"] == 1, "\(row.text)")
                #expect(sink.tokens == ["ab02"])
                let waiting = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master)
                #expect(waiting["status"] == "running" && waiting["numFailed"] == nil, "\(waiting.text)")
            }
        }
    }

    @Test("Limits reconnects to a service that ends every connection at once")
    func sentAway() async throws {
        var manners = PushSink.Manners()
        manners.leavesAtOnce = true
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.device(server, "ab01")
            let row = try await PushFixture.push(
                server, ["where": [:], "data": ["alert": "x"], "expiration_interval": 4])
            #expect(row["numSent"] == 0 && row["numFailed"] == 1, "\(row.text)")
            #expect((2...100).contains(sink.connections), "\(sink.connections)")
        }
    }

    @Test("Gives up on a service that accepts a connection but never responds")
    func silentService() async throws {
        try await SilentServer.run { silent in
            let push: JSONObject = ["ios": try PushSink.Identity().apple("app.one", port: silent.port)]
            try await TestServer.run(["push": .object(push)]) { server in
                try await PushFixture.device(server, "ab01")
                let row = try await PushFixture.push(
                    server, ["where": [:], "data": ["alert": "x"], "expiration_interval": 5])
                #expect(row["numSent"] == 0 && row["numFailed"] == 1, "\(row.text)")
            }
        }
    }

    @Test("A push that expires while the service is unreachable fails with that reason")
    func expires() async throws {
        let identity = try PushSink.Identity()
        let port = try await FreePort.find()
        let push: JSONObject = ["ios": identity.apple("app.one", port: port)]
        try await TestServer.run(["push": .object(push)]) { server in
            try await PushFixture.fill(server, 3)
            let row = try await PushFixture.push(
                server, ["where": [:], "data": ["alert": "x"], "expiration_interval": 4])
            #expect(row["numSent"] == 0 && row["numFailed"] == 3, "\(row.text)")
            let failures = try await PushFixture.failures(server, row)
            #expect(Set(failures.values) == ["expired before it could be sent"], "\(failures)")
        }
    }

    @Test("Resends the unanswered notifications of a closed connection once, with the same ids")
    func closed() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["cc": [.close, .good]]
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.fill(server, 40)
            try await PushFixture.device(server, "cc01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 41 && row["numFailed"] == nil, "\(row.text)")
            let counts = Dictionary(sink.tokens.map { ($0, 1) }, uniquingKeysWith: +)
            #expect(counts.count == 41 && counts["cc01"] == 2)
            #expect(counts.values.allSatisfy { $0 <= 2 })
            // Duplicates have the same id.
            for token in counts.keys {
                let ids = Set(sink.notifications.filter { $0.token == token }.map { $0.headers["apns-id"] })
                #expect(ids.count == 1 && ids.first.map { $0 != nil } == true)
            }
        }
    }
}
