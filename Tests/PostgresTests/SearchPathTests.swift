import Postgres
import Testing

@Suite("Schemas named in connection strings") struct SearchPathTests {
    static let schemas = [
        "app1", "App", "app.1", #"App "1""#, #"a\b"#, #"\"#, "'", "a, b", "$$", "\u{A0}", "e\u{301}\"\u{301}", " ",
        String(repeating: "x", count: 63),
    ]

    @Test("A schema of any name is used for lookups and for new tables", arguments: schemas)
    func names(name: String) async throws {
        try await TestDatabase.run { database in
            let text = PostgresConfiguration.connectionString(database.uri, schema: name)
            #expect(PostgresConfiguration.connectionString(text, schema: name) == text)
            #expect(PostgresConfiguration(connectionString: text).schema?.utf8.elementsEqual(name.utf8) == true)
            try await database.client.execute(script: "CREATE SCHEMA \(SQL.identifier(name))")
            let configuration = PostgresConfiguration(connectionString: text)
            try await PostgresClient.opened(configuration, logger: TestDatabase.logger) { client in
                try await client.execute(script: "CREATE TABLE \"T\" (a int)")
                let rows = try await client.query(
                    "SELECT current_schema()::text, current_schemas(false)::text[] = ARRAY[$1], to_regclass('\"T\"')::oid::int8",
                    [.text(name)])
                #expect(rows.string(0, 0) == name)
                #expect(rows.bool(0, 1) == true)
                #expect(rows.int(0, 2) != nil)
            }
            let bulk = try BulkConnection(connectionString: text, logger: TestDatabase.logger)
            #expect(try bulk.query("SELECT current_schema()::text").string(0, 0) == name)
        }
    }

    @Test("Adding a schema overrides the connection string's search_path and keeps its other parameters")
    func others() async throws {
        try await TestDatabase.run { database in
            let uri =
                database.uri + "?options=-c%20search_path%3Dpg_catalog%20-c%20work_mem%3D5MB&application_name=it%27s"
            let text = PostgresConfiguration.connectionString(uri, schema: "public")
            try await PostgresClient.opened(
                PostgresConfiguration(connectionString: text), logger: TestDatabase.logger
            ) { client in
                for (name, value) in [("search_path", "\"public\""), ("work_mem", "5MB"), ("application_name", "it's")]
                {
                    let shown = try await client.query("SHOW \(name)").string(0, 0)
                    #expect(shown == value)
                }
            }
        }
        #expect(PostgresConfiguration.connectionString("no string", schema: "a") == "no string")
        // All other parameters come from the environment.
        let bare = PostgresConfiguration.connectionString("postgres://", schema: "a")
        #expect(PostgresConfiguration(connectionString: bare).schema == "a")
        #expect(PostgresConfiguration.connectionString("postgres://h/d", schema: nil) == "postgres://h/d")
    }

    @Test("Parses the first schema of a search_path the way PostgreSQL does")
    func paths() {
        func schema(_ path: String) -> String? {
            PostgresConfiguration(connectionString: "host=h options='-c search_path=\(path)'").schema
        }
        #expect(schema("App1,public") == "app1")
        #expect(schema(#""App",public"#) == "App")
        #expect(schema("\u{C4}PP\u{A0},public").map { Array($0.utf8) } == Array("\u{C4}pp\u{A0}".utf8))
        #expect(schema(#""a""b""#) == "a\"b")
        #expect(schema(#""$user",public"#) == nil)
        #expect(schema("$user") == nil)
        #expect(PostgresConfiguration(connectionString: "postgres://h/d").schema == nil)
    }

    @Test("Notifications stay within their schema, except on parse-server's channel")
    func channels() async throws {
        try await TestDatabase.run { database in
            func client(_ schema: String?) -> PostgresClient {
                PostgresClient(
                    configuration: PostgresConfiguration(
                        connectionString: PostgresConfiguration.connectionString(database.uri, schema: schema)),
                    logger: TestDatabase.logger)
            }
            let clients = [client(nil), client("public"), client("one"), client("two")]
            var heard: [[String]] = []
            var streams = clients.map { $0.listen(channels: ["roost.x", "schema.change"]).makeAsyncIterator() }
            for index in streams.indices {
                guard case .connected = await streams[index].next() else { return #expect(Bool(false)) }
            }
            for (number, client) in clients.enumerated() {
                try await client.notify(channel: "roost.x", payloads: ["\(number)"])
            }
            try await clients[0].notify(channel: "schema.change", payloads: ["last"])
            for index in streams.indices {
                var payloads: [String] = []
                while case .notification(let channel, let payload) = await streams[index].next() {
                    payloads.append("\(channel) \(payload)")
                    if payload == "last" { break }
                }
                heard.append(payloads)
            }
            let last = "schema.change last"
            let ofPublic = ["roost.x 0", "roost.x 1", last]
            #expect(heard == [ofPublic, ofPublic, ["roost.x 2", last], ["roost.x 3", last]])
            for client in clients { await client.shutdown() }
        }
    }
}
