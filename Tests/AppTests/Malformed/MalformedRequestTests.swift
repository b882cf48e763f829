import Foundation
import JSON
import TestSupport
import TestTools
import Testing

/// The server responds to any input, preserves its data and keeps running.
///
/// The time limit catches hanging requests. It includes the wait for other tests.
@Suite("Malformed requests", .serialized, .timeLimit(.minutes(10)))
struct MalformedRequestTests {
    private static let workers = 8
    /// The number of requests and the seed, which environment variables can change.
    private static let requests = environment("ROOST_MALFORMED_REQUESTS") ?? Samples.count(100_000)
    private static let seed = environment("ROOST_MALFORMED_SEED") ?? 1

    private static func environment(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test("Malformed requests on all routes get statuses below 500 and change no data")
    func allRoutes() async throws {
        #expect(MalformedGenerator.table.count > 70)
        try await TestServer.run { server in
            let token = try await Self.prepare(server)
            let before = try await Self.treasures(server)
            try await Self.expectNoFailures(Self.send(2, requestsEach: Self.requests / Self.workers, server, token))
            try await Self.expectUnchanged(before, server)
        }
    }

    /// The server runs in a separate process, since other tests in this process allocate and free memory.
    @Test("Malformed requests leak no memory")
    func memory() async throws {
        try await ServerProcesses.run(1) { processes in
            let server = processes[0]
            let process = processes.identifiers[0]
            let token = try await Self.prepare(server)
            // The first requests don't count, because of allocations that are made only once.
            try await Self.expectNoFailures(Self.send(3, requestsEach: 250, server, token))
            let before = MalformedMemory.resident(of: process)
            try await Self.expectNoFailures(Self.send(4, requestsEach: 1000, server, token))
            let growth = MalformedMemory.resident(of: process) - before
            print("malformed requests: resident memory grew by \(growth / 1_048_576) MB")
            #expect(growth <= 30 * 1_048_576)
        }
    }

    /// Half a megabyte of the shortest requests takes ten times as much memory when parsed.
    @Test("Thousands of pipelined requests whose responses are never read take little memory")
    func unreadAnswers() async throws {
        try await ServerProcesses.run(1) { processes in
            let port = try Self.port(processes.servers[0])
            let request = "GET /parse/health HTTP/1.1\r\nHost: x\r\n\r\n"
            let requests = [UInt8](String(repeating: request, count: 15_000).utf8)
            let before = MalformedMemory.resident(of: processes.identifiers[0])
            let growth = await Self.onThread {
                let sockets = (0..<16).map { _ in
                    MalformedSocket(port: port, timeLimit: .milliseconds(200), receiveBuffer: 2048)
                }
                for socket in sockets {
                    try? socket.send(requests)
                    socket.finishSending()
                }
                return withExtendedLifetime(sockets) {
                    let peak = (0..<20).reduce(0) { peak, _ in
                        usleep(100_000)
                        return max(peak, MalformedMemory.resident(of: processes.identifiers[0]))
                    }
                    return peak - before
                }
            }
            print("unread answers: resident memory grew by \(growth / 1_048_576) MB")
            #expect(growth <= 30 * 1_048_576)
            #expect(try await processes.servers[0].send("GET", "/health", as: .nobody).status == 200)
        }
    }

    @Test("Two hundred aborted or non-HTTP connections change no data")
    func brokenConnections() async throws {
        try await TestServer.run { server in
            let token = try await Self.prepare(server)
            let before = try await Self.treasures(server)
            let port = try Self.port(server)
            let reports = await withTaskGroup(of: MalformedWorker.Report.self) { group in
                for number in 0..<4 {
                    let worker = MalformedWorker(
                        port: port, seed: UInt64(9000 + number), count: 50, sessionToken: token)
                    group.addTask { await worker.runBroken() }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            Self.expectNoFailures(reports)
            try await Self.expectUnchanged(before, server)
        }
    }

    private static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    /// Creates the classes, and the objects that must not change. Returns a valid session token.
    private static func prepare(_ server: TestServer) async throws -> String {
        let fields: JSONObject = [
            "text": "String", "number": "Number", "flag": "Boolean", "moment": "Date", "place": "GeoPoint",
            "area": "Polygon", "list": "Array", "map": "Object", "picture": "File", "data": "Bytes",
        ]
        for className in ["Thing", "Other"] {
            var definitions = JSONObject()
            for (name, type) in fields { definitions[name] = ["type": type] }
            definitions["friend"] = ["type": "Pointer", "targetClass": "Other"]
            definitions["friends"] = ["type": "Relation", "targetClass": "Other"]
            let schema: JSONValue = ["className": .string(className), "fields": .object(definitions)]
            #expect(try await server.send("POST", "/schemas", schema, as: .master).status == 200)
        }
        for number in 0..<50 {
            let texts = MalformedValues.texts
            let treasure: JSONObject = [
                "number": .number(Double(number)), "text": .string(texts[number % texts.count]), "flag": true,
                "list": [1, "two", [3]], "map": ["a": ["b": "c'\"\\"]],
                "moment": ["__type": "Date", "iso": "2020-02-29T12:34:56.789Z"],
                "place": ["__type": "GeoPoint", "latitude": 48.5, "longitude": -9.25],
            ]
            _ = try await server.create("Treasure", treasure)
            _ = try await server.create("Thing", ["text": "a", "number": .number(Double(number)), "list": [1, 2]])
        }
        return try await server.signUp("somebody").token
    }

    /// The objects that must not change, as normalized JSON.
    private static func treasures(_ server: TestServer) async throws -> [String] {
        let answer = try await server.send("GET", "/classes/Treasure?limit=1000&order=number", as: .master)
        let objects = answer["results"]?.arrayValue ?? []
        #expect(objects.count == 50)
        // The order of members is not significant.
        return objects.map { object in
            let members = (object.objectValue ?? [:]).sorted { $0.key < $1.key }
            return members.map { "\($0.key): \(String(decoding: $0.value.serialized(), as: UTF8.self))" }
                .joined(separator: ", ")
        }
    }

    private static func expectUnchanged(_ before: [String], _ server: TestServer) async throws {
        let after = try await treasures(server)
        for (old, new) in zip(before, after) where old != new {
            Issue.record("an object changed from \(old) to \(new)")
        }
    }

    private static func send(_ round: Int, requestsEach: Int, _ server: TestServer, _ token: String) async throws
        -> [MalformedWorker.Report]
    {
        let port = try port(server)
        return await withTaskGroup(of: MalformedWorker.Report.self) { group in
            for number in 0..<workers {
                let worker = MalformedWorker(
                    port: port, seed: UInt64(seed * 1_000_000 + round * 1000 + number), count: requestsEach,
                    sessionToken: token)
                group.addTask { await worker.run() }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func expectNoFailures(_ reports: [MalformedWorker.Report]) {
        var statuses: [Int: Int] = [:]
        for report in reports { statuses.merge(report.statuses, uniquingKeysWith: +) }
        let counts = statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        print("malformed requests: answers \(counts)")
        let failures = reports.flatMap(\.failures)
        for failure in failures { print(failure) }
        #expect(failures.isEmpty, "\(failures.count) requests were answered wrongly; they are printed above")
    }

    private static func port(_ server: TestServer) throws -> Int {
        try #require(URL(string: server.url)?.port)
    }
}
