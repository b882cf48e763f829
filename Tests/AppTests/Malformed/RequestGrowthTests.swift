#if os(Linux)
    import JSON
    import TestSupport
    import Testing

    /// The cost of a request is at most linear in the size of anything that it can contain.
    @Suite(.serialized) struct RequestGrowthTests {
        /// Results below these are ignored, because constant costs dominate them.
        private static let leastTime = Duration.milliseconds(4)
        private static let leastMemory = 3 * 1024 * 1024

        /// The costs of requests of three sizes: CPU time, and memory in addition to the server's previous usage.
        private struct Growth: CustomStringConvertible {
            var times = [Duration](repeating: .seconds(1_000), count: 3)
            var peaks = [Int](repeating: .max, count: 3)

            /// Records the smaller of two measurements.
            mutating func note(_ place: Int, _ time: Duration, _ peak: Int) {
                times[place] = min(times[place], max(time, leastTime))
                peaks[place] = min(peaks[place], max(peak, leastMemory))
            }

            /// Whether time and memory grow less than threefold with each doubling, measured over both doublings,
            /// because a single one may be disturbed by other processes. Linear costs grow twofold, quadratic ones
            /// fourfold.
            var isModest: Bool { times[2] < times[0] * 9 && peaks[2] < peaks[0] * 9 }

            var description: String { "\(times), \(peaks.map { $0 / 1024 }) KB" }
        }

        /// Creates the data that the requests need.
        private static func fill(_ server: TestServer) async throws {
            _ = try await server.create("Made", ["n": 1])
            _ = try await server.create(
                "Many", ["n": 0, "r": 0, "s": "x", "p": .pointer("Many", "m1"), "q": .pointer("Many", "m1")])
            try await server.execute(
                """
                INSERT INTO "Many" ("objectId", "createdAt", "updatedAt", _rperm, _wperm, n, r, s, p, q)
                SELECT 'm' || i, now(), now(), ARRAY['*'], ARRAY['*'], i, i % 10, repeat('x', 100),
                    'm' || i * 7 % 1000 + 1, 'm' || i * 11 % 1000 + 1
                FROM generate_series(1, 1000) AS i;
                ANALYZE
                """)
        }

        private static func makeNode(_ server: TestServer) async throws -> String {
            try await server.create(
                "Node",
                [
                    "n": 1, "list": [1, 2], "o": ["k0": 1], "s": "x", "related": .operation("AddRelation", []),
                    "p": .pointer("Many", "m1"),
                ])
        }

        @Test(
            "Four times the input costs less than nine times the CPU time and memory",
            .timeLimit(.minutes(10)))
        func growth() async throws {
            try await ServerProcesses.run(1, ["allowCustomObjectId": true]) { processes in
                let server = processes[0]
                try await Self.fill(server)
                var cost = ServerCost(of: server, process: processes.identifiers[0])
                var number = 0
                for dimension in GrowthDimension.all {
                    var growth = Growth()
                    let id = try await Self.makeNode(server)
                    let base = cost.memory
                    // The first round may include one-time costs, and the machine is never idle.
                    for _ in 0..<5 {
                        cost.findBackends()
                        for (place, size) in [1, 2, 4].enumerated() {
                            number += 1
                            let request = try await dimension.request(
                                size * dimension.size, .init(server: server, id: id, name: "G\(number)"))
                            cost.forgetPeak()
                            let before = cost.time
                            let answer = try await request.send(to: server)
                            growth.note(place, cost.time - before, cost.peak - base)
                            #expect(
                                answer.status / 100 == 2, "\(dimension.name), \(size): \(answer.text.prefix(300))")
                        }
                        if growth.isModest { break }
                    }
                    #expect(growth.isModest, "\(dimension.name) grew like this: \(growth)")
                }
            }
        }

        /// The maximum duration of a get during the largest requests.
        private static var longest: Duration {
            #if DEBUG
                // Unoptimized code is much slower, and other gets share the event loop.
                .milliseconds(250)
            #else
                .milliseconds(50)
            #endif
        }

        @Test("The largest requests don't delay concurrent gets", .timeLimit(.minutes(10)))
        func besides() async throws {
            try await ServerProcesses.run(1, ["allowCustomObjectId": true]) { processes in
                let server = processes[0]
                try await Self.fill(server)
                let cost = ServerCost(of: server, process: processes.identifiers[0])
                var number = 0
                for dimension in GrowthDimension.all {
                    var slowest: [Duration] = []
                    let id = try await Self.makeNode(server)
                    for round in 0..<6 {
                        number += 1
                        let request = try await dimension.request(
                            4 * dimension.size, .init(server: server, id: id, name: "B\(number)"))
                        slowest.append(try await Self.slowestGet(on: server, cost, beside: request))
                        if slowest[round] < Self.longest { break }
                    }
                    #expect(slowest.contains { $0 < Self.longest }, "\(dimension.name): \(slowest)")
                }
            }
        }

        /// Sends gets until a request completes, and returns the longest duration, minus the time that the server
        /// waited for a CPU because of other tests.
        private static func slowestGet(
            on server: TestServer, _ cost: ServerCost, beside request: GrowthRequest
        ) async throws -> Duration {
            let delays = cost.delays
            // Two connections use two event loops, if there are as many.
            let gets = try [SteadyGets(of: "Many/m1", on: server), SteadyGets(of: "Many/m1", on: server)]
            async let slowest = (gets[0].slowest(), gets[1].slowest())
            let answer: TestAnswer
            do {
                defer { for get in gets { get.stop() } }
                answer = try await request.send(to: server)
            }
            let (first, second) = try await slowest
            #expect(answer.status / 100 == 2)
            let waited = cost.delays.map { $0.value - (delays[$0.key] ?? .zero) }.max() ?? .zero
            return max(first, second) - waited
        }
    }
#endif
