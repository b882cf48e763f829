import JSON
import Limits
import Logging
import OrderedCollections
import ParseModel
import ParseStorage
import Postgres
import TestSupport
import TestTools
import Testing

/// An object store with a new database, installed like the server's.
struct TestStore: Sendable {
    let uri: String
    let client: PostgresClient
    let catalog: SchemaCatalog
    let store: ObjectStore

    static let logger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }()

    /// Runs `body` with a copy of the installed template, or with a database created and installed with `options`.
    ///
    /// - Parameter options: The text after the name in CREATE DATABASE.
    static func run(options: String? = nil, _ body: @Sendable (TestStore) async throws -> Void) async throws {
        let copy = try await TestTemplate.copy()
        try await withDatabase(options: options ?? copy) { uri in
            try await open(uri) { test in
                if options == nil {
                    try await test.catalog.reload()
                } else {
                    try await DatabaseInstaller(client: test.client, catalog: test.catalog, logger: logger).install()
                }
                try await body(test)
            }
        }
    }

    /// Creates a database for the test. At most ten tests run at once.
    static func withDatabase(options: String = "", _ body: @Sendable (String) async throws -> Void) async throws {
        try await gate.run { try await TestServer.withDatabase(options: options, body) }
    }

    private static let gate = Gate(capacity: 10)

    /// Opens a store on a database without installing it.
    static func open(_ uri: String, _ body: @Sendable (TestStore) async throws -> Void) async throws {
        var configuration = PostgresConfiguration(connectionString: uri)
        configuration.sharedConnections = 2
        let client = PostgresClient(configuration: configuration, logger: logger)
        try await client.start()
        let catalog = SchemaCatalog(client: client, senderId: "test", refusesMixedMembership: false, logger: logger)
        let store = ObjectStore(client: client, catalog: catalog, logger: logger)
        let test = TestStore(uri: uri, client: client, catalog: catalog, store: store)
        let result = await Result.awaiting { try await body(test) }
        await client.shutdown()
        try result.get()
    }

    private func operations(_ fields: JSONObject, isCreating: Bool) throws -> (
        OrderedDictionary<Name, FieldOperation>, OrderedDictionary<Name, Field>
    ) {
        var operations: OrderedDictionary<Name, FieldOperation> = [:]
        var types: OrderedDictionary<Name, Field> = [:]
        for (key, value) in fields {
            let operation = try FieldOperation(json: value, isCreating: isCreating)
            operations[key] = operation
            if !key.text.contains("."), let type = try operation.impliedType() { types[key] = Field(type) }
        }
        return (operations, types)
    }

    func create(_ className: String, _ id: String, _ json: String = "{}", acl: ACL? = nil) async throws {
        let fields = try #require(try JSONValue(parsing: json).objectValue)
        let (operations, types) = try operations(fields, isCreating: true)
        _ = try await store.ensure(className, types)
        var write = ObjectWrite()
        write.operations = operations
        write.acl = acl
        write.createdAt = ParseDate(milliseconds: 1_600_000_000_123)
        write.updatedAt = ParseDate(milliseconds: 1_600_000_000_123)
        try await store.insert(className, objectId: id, write)
    }

    func createAll(_ className: String, _ objects: OrderedDictionary<String, JSONObject>) async throws {
        var writes: [(className: String, objectId: String, write: ObjectWrite)] = []
        for (id, fields) in objects {
            var write = ObjectWrite()
            write.operations = try operations(fields, isCreating: true).0
            writes.append((className, id, write))
        }
        try await store.insert(writes)
    }

    /// Updates an object with the JSON of a PUT, and returns the new values of `echo`.
    @discardableResult
    func update(_ className: String, _ id: String, _ json: String, echo: [String] = []) async throws -> JSONObject? {
        let fields = try #require(try JSONValue(parsing: json).objectValue)
        let (operations, types) = try operations(fields, isCreating: false)
        _ = try await store.ensure(className, types)
        var write = ObjectWrite()
        write.operations = operations
        return try await store.update(className, objectId: id, write, echo: echo)?.echoed
    }

    func ids(_ className: String, _ json: String) async throws -> [String] {
        let object = try #require(try JSONValue(parsing: json).objectValue)
        let filter = try FilterParser(isMaster: true, now: 1_600_000_000_000).parse(object)
        return try await ids(className, filter).sorted()
    }

    func ids(_ className: String, _ filter: Filter, order: [SortKey] = []) async throws -> [String] {
        var request = ObjectStore.FindRequest(className: className)
        request.filter = filter
        request.order = order
        request.wantsCount = true
        let found = try await store.find(request)
        #expect(found.count == found.rowCount)
        return (0..<found.rowCount).compactMap(found.objectId)
    }

    func aggregate(_ className: String, _ pipeline: String) async throws -> JSONValue {
        let stages = try AggregateStage.list(JSONValue(parsing: pipeline).arrayValue ?? [])
        return .array(try await store.aggregates.aggregate(className, stages, now: 1_600_000_000_000))
    }

    func plan(_ className: String, _ json: String, order: [SortKey] = []) async throws -> String {
        let object = try #require(try JSONValue(parsing: json).objectValue)
        var request = ObjectStore.FindRequest(className: className)
        request.filter = try FilterParser(isMaster: true, now: 0).parse(object)
        request.order = order
        return try await store.explain(request).text
    }

    func object(_ className: String, _ id: String) async throws -> JSONObject? {
        var request = ObjectStore.FindRequest(className: className)
        request.filter = .field(FieldPath("objectId"), .equal(.string(id)))
        request.links = FileLinks(mountURL: "http://files.example", applicationID: "app")
        return try await store.find(request).objects.first
    }

    func value(_ className: String, _ id: String, _ field: String) async throws -> JSONValue? {
        try await object(className, id)?[field]
    }

    /// Expects that each `where` matches exactly the given objects.
    func expect(_ className: String, _ table: [(String, String)], sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        for (json, expected) in table {
            do {
                let found = try await ids(className, json).joined(separator: " ")
                #expect(found == expected, "\(json)", sourceLocation: sourceLocation)
            } catch {
                Issue.record("\(json) failed: \(error)", sourceLocation: sourceLocation)
            }
        }
    }
}

/// The code of the Parse error that a call throws, or nil if it succeeds.
func parseCode(_ body: @Sendable () async throws -> some Sendable) async throws -> Int? {
    do {
        _ = try await body()
        return nil
    } catch let error as ParseError {
        return error.code
    }
}
