import JSON
import TestSupport
import Testing

/// Attacks on other clients with class changes.
@Suite struct SecurityTableLockTests {
    @Test("Adding fields during a backup doesn't block reads and succeeds after the backup")
    func backup() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["name": "x"])
            let saves = try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS SHARE MODE") {
                let saves = (0..<4).map { index in
                    Task { try await server.send("PUT", "/classes/Song/\(id)", .object(["f\(index)": 1])) }
                }
                let isWaiting = try await server.waitsForLocks()
                #expect(isWaiting)
                // If reads had to wait for the table change, most of them would take as long as it does.
                var times: [Duration] = []
                while times.count < 40 {
                    let start = ContinuousClock.now
                    let answer = try await server.send("GET", "/classes/Song/\(id)")
                    #expect(answer.status == 200)
                    times.append(start.duration(to: .now))
                }
                #expect(times.count { $0 < .seconds(1) } > 20, "\(times)")
                return saves
            }
            for save in saves {
                let answer = try await save.value
                #expect(answer.status == 200, "\(answer.text)")
            }
            let song = try await server.send("GET", "/classes/Song/\(id)")
            for index in 0..<4 { #expect(song["f\(index)"] == 1) }
        }
    }

    @Test("Deleting an empty class never loses an object that was acknowledged at the same time")
    func removal() async throws {
        try await TestServer.run { server in
            for round in 0..<20 {
                let name = "Round\(round)"
                _ = try await server.send("POST", "/schemas/\(name)", ["className": .string(name)], as: .master)
                let answers = try await concurrently(6) { index in
                    index == 3
                        ? try await server.send("DELETE", "/schemas/\(name)", as: .master)
                        : try await server.send("POST", "/classes/\(name)", [:])
                }
                #expect(answers.allSatisfy { $0.status < 500 }, "\(answers.map(\.text))")
                #expect(answers[3].status == 200 || answers[3].code == 255, "\(answers[3].text)")
                for (index, answer) in answers.enumerated() where index != 3 && answer.status == 201 {
                    let id = try answer.string("objectId")
                    let stored = try await server.send("GET", "/classes/\(name)/\(id)", as: .master)
                    #expect(stored.status == 200, "\(stored.text)")
                }
            }
        }
    }

    @Test("Deleting a class that another session keeps reading fails with 124 and succeeds later")
    func removalBesideReader() async throws {
        try await TestServer.run(["transactionTimeout": 500]) { server in
            _ = try await server.send("POST", "/schemas/Song", ["className": "Song"], as: .master).succeeded()
            try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS SHARE MODE") {
                let answer = try await server.send("DELETE", "/schemas/Song", as: .master)
                #expect(answer.status == 400)
                #expect(answer.code == 124)
            }
            #expect(try await server.send("DELETE", "/schemas/Song", as: .master).status == 200)
        }
    }

    @Test("A server can start during a backup of its database")
    func start() async throws {
        try await TestServer.run { server in
            let tables = try await server.texts(
                "SELECT quote_ident(relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            )
            try await server.whileLocked("LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS SHARE MODE") {
                try await server.alongside { other in
                    let answer = try await other.send("GET", "/users")
                    #expect(answer.status == 200)
                }
            }
        }
    }
}
