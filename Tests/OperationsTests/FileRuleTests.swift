import FileStorage
import Foundation
import Logging
import Operations
import ParseModel
import ParseStorage
import Postgres
import Rules
import ServerConfiguration
import Testing

@Suite("File rules")
struct FileRuleTests {
    private struct Asked: Error {}

    /// File operations on a temporary folder, without a database.
    private static func run(_ options: [String] = [], _ body: (Files) async throws -> Void) async throws {
        let (configuration, _) = try Configuration.load(
            file: nil, environment: [:], flags: ["--appId", "app", "--masterKey", "master"] + options)
        let folder = FileManager.default.temporaryDirectory.path + "/roost-rules-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let client = PostgresClient(configuration: PostgresConfiguration(connectionString: ""), logger: logger)
        let catalog = SchemaCatalog(client: client, senderId: "test", refusesMixedMembership: false, logger: logger)
        let backend = Backend(
            configuration: configuration, store: ObjectStore(client: client, catalog: catalog, logger: logger),
            files: DiskStorage(directory: folder), logger: logger)
        try await body(try #require(backend.files))
    }

    private static func context(_ power: Caller.Power) -> RequestContext {
        RequestContext(caller: Caller(power: power), mountURL: "http://h/1", now: ParseDate(milliseconds: 0))
    }

    private static var content: FileContent { .whole(Array("text".utf8)) }
    private static let upload = FileUpload(name: "a.txt")

    @Test("Rejects keys without upload or delete rights before resolving the caller")
    func keysFirst() async throws {
        try await Self.run { files in
            await #expect(throws: Forbidden.self) {
                _ = try await files.store(Self.content, Self.upload, power: .readOnlyMaster) { throw Asked() }
            }
            for power in [Caller.Power.client, .maintenance, .readOnlyMaster] {
                await #expect(throws: Forbidden.self) {
                    try await files.delete(["a.txt"], power: power) { throw Asked() }
                }
            }
            await #expect(throws: Asked.self) {
                _ = try await files.store(Self.content, Self.upload, power: .client) { throw Asked() }
            }
            await #expect(throws: Asked.self) { try await files.delete(["a.txt"], power: .master) { throw Asked() } }
        }
    }

    @Test("Opens public files without resolving the caller")
    func openFiles() async throws {
        try await Self.run(["--preserveFileName", "true"]) { files in
            let stored = try await files.store(Self.content, Self.upload, power: .master) { Self.context(.master) }
            #expect(stored.name == "a.txt")
            #expect(stored.url == "http://h/1/files/app/a.txt")
            let file = try await files.open("a.txt", for: FileWish()) { _ in throw Asked() }
            #expect(file?.size == 4)
            let none = try await files.open("b.txt", for: FileWish()) { _ in throw Asked() }
            #expect(none == nil)
            try await files.delete(["app", "a.txt"], power: .master) { Self.context(.master) }
            let deleted = try await files.open("a.txt", for: FileWish()) { _ in throw Asked() }
            #expect(deleted == nil)
        }
    }

    @Test("Checks the caller's rights first, then the size, then the file name")
    func order() async throws {
        try await Self.run { files in
            var upload = FileUpload(name: "<")
            var content = FileContent.whole([])
            upload.sizeLimit = "much"
            func refusal(_ power: Caller.Power) async -> (any Error)? {
                do {
                    _ = try await files.store(content, upload, power: power) { Self.context(power) }
                    return nil
                } catch {
                    return error
                }
            }
            #expect(await refusal(.client) as? ParseError == ParseError(130, "File upload by public is disabled."))
            #expect(await refusal(.maintenance) as? Forbidden == .masterKeyRequired)
            let unreadable = ParseError(130, "Invalid maxUploadSize override value: much")
            #expect(await refusal(.master) as? ParseError == unreadable)
            upload.sizeLimit = "1mb"
            #expect(await refusal(.master) as? ParseError == ParseError(130, "Invalid file upload."))
            content = .whole([1])
            #expect(await refusal(.master) as? ParseError == ParseError(122, "Filename contains invalid characters."))
        }
    }
}
