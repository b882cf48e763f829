import Foundation
import TestTools
import Testing

/// Modules are layered, and import only lower ones.
@Suite struct ImportDirectionTests {
    /// The modules from the lowest up, as in docs/architecture.md, with their allowed imports. All may import Platform.
    private static let mayImport: [String: Set<String>] = [
        "Platform": [],
        "Encoding": [],
        "Limits": ["CMalloc"],
        "Telemetry": ["Limits"],
        "JSON": ["Encoding"],
        "BSON": ["Encoding", "JSON"],
        "Postgres": ["CLibpq", "Encoding", "Limits"],
        "LocalPostgres": ["Encoding"],
        "FileStorage": ["CFile", "Encoding", "JSON", "Limits"],
        "ParseModel": ["Encoding", "JSON"],
        "Logs": ["Encoding", "JSON", "Limits", "ParseModel"],
        "ServerConfiguration": ["Encoding", "JSON"],
        "ParseStorage": ["Encoding", "JSON", "Limits", "ParseModel", "Postgres", "Schema"],
        "Rules": ["Encoding", "JSON", "ParseModel", "ServerConfiguration", "Telemetry"],
        "Operations": [
            "CCrypt", "Encoding", "FileStorage", "JSON", "Limits", "Logs", "ParseModel", "ParseStorage", "Postgres",
            "Rules", "ServerConfiguration", "Telemetry",
        ],
        "CloudCode": [
            "JSON", "Limits", "Logs", "Operations", "ParseModel", "Rules", "ServerConfiguration", "Telemetry",
        ],
        "HTTP": ["CZlib", "Encoding", "JSON", "Limits", "Logs", "Telemetry"],
        "REST": [
            "CloudCode", "Encoding", "FileStorage", "HTTP", "JSON", "Limits", "Operations", "Pages", "ParseModel",
            "ParseStorage", "Postgres", "Rules", "ServerConfiguration", "Telemetry",
        ],
        "Doctor": ["Encoding", "JSON", "Operations", "ParseModel", "ParseStorage", "Postgres", "Schema"],
        "Console": [
            "CConsole", "Doctor", "Encoding", "FileStorage", "HTTP", "JSON", "Limits", "Operations", "ParseModel",
            "ParseStorage", "Postgres", "REST", "Rules", "ServerConfiguration", "SignIn", "Telemetry",
        ],
        "LiveQuery": [
            "Encoding", "HTTP", "JSON", "Limits", "Operations", "ParseModel", "ParseStorage", "Postgres",
            "Rules", "ServerConfiguration",
        ],
        "Templates": ["Encoding"],
        "Pages": ["Encoding", "JSON", "ServerConfiguration", "Templates"],
        "Outgoing": ["Encoding", "JSON", "Limits", "ServerConfiguration"],
        "FileStores": [
            "Encoding", "FileStorage", "JSON", "Limits", "Outgoing", "ParseStorage", "Postgres", "Rules",
            "ServerConfiguration", "Telemetry",
        ],
        "Webhooks": [
            "CloudCode", "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel", "ServerConfiguration",
        ],
        "SignIn": ["Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel", "ServerConfiguration"],
        "Mail": [
            "CCurl", "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel", "ParseStorage",
            "ServerConfiguration", "Telemetry", "Templates",
        ],
        "Push": [
            "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel", "ParseStorage", "Postgres", "Rules",
            "ServerConfiguration",
        ],
        "Migration": [
            "BSON", "CZlib", "Encoding", "FileStorage", "JSON", "Limits", "Outgoing", "ParseModel", "ParseStorage",
            "Postgres",
        ],
        "NodeHost": ["CloudCode", "Encoding", "JSON", "Limits", "Operations", "ParseModel", "ServerConfiguration"],
        "App": [
            "CMalloc", "CloudCode", "Console", "Encoding", "FileStorage", "FileStores", "HTTP", "JSON", "Limits",
            "LiveQuery", "LocalPostgres", "Logs", "Mail", "Migration", "NodeHost", "Operations", "ParseModel",
            "Outgoing", "Pages", "ParseStorage", "Postgres", "Push", "REST", "Schema", "ServerConfiguration", "SignIn",
            "Telemetry", "Webhooks",
        ],
        "CLI": [
            "App", "Doctor", "Encoding", "JSON", "Mail", "Migration", "ParseModel", "ParseStorage", "Push",
            "ServerConfiguration",
        ],
        "Roost": [
            "App", "CloudCode", "Encoding", "JSON", "ParseModel", "ServerConfiguration", "Telemetry",
        ],
    ]

    private static let sources = URL(fileURLWithPath: Checkout.path("Sources"))

    private static func folders() throws -> [String: URL] {
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.allObjects ?? []
        var folders: [String: URL] = [:]
        for case let file as URL in files where file.pathExtension == "swift" {
            let path = file.pathComponents.dropFirst(sources.pathComponents.count)
            let depth = ["App", "CLI"].contains(path.first) ? 1 : 2
            folders[path.dropFirst(depth - 1).first ?? ""] = path.prefix(depth).reduce(sources) {
                $0.appendingPathComponent($1)
            }
        }
        return folders
    }

    private static func files(of module: String) throws -> [URL] {
        let folder = try #require(folders()[module])
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    private static func imports(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").filter { !["public", "package", "@testable"].contains($0) }
            return words.first == "import" ? words.dropFirst().first.map { String($0) } : nil
        }
    }

    @Test(
        "A module imports only the modules that the import list allows, and no two modules import each other",
        arguments: mayImport.keys.sorted())
    func direction(module: String) throws {
        let allowed = try #require(Self.mayImport[module]).union(["Platform"])
        let files = try Self.files(of: module)
        #expect(!files.isEmpty)
        let own = Set(Self.mayImport.keys).union([
            "CConsole", "CCurl", "CFile", "CLibpq", "CCrypt", "CMalloc", "CZlib", "Schema",
        ])
        for file in files {
            for name in try Self.imports(of: file) where own.contains(name) {
                #expect(allowed.contains(name), "\(file.lastPathComponent) imports \(name)")
            }
        }
        // The allowed modules are lower, so there are no cycles.
        for name in allowed {
            #expect(Self.mayImport[name]?.contains(module) != true, "\(module) and \(name) import each other")
        }
    }

    @Test("The import list names every module in Sources")
    func complete() throws {
        for module in try Self.folders().keys {
            #expect(Self.mayImport[module] != nil, "\(module) has no place in the order of modules")
        }
    }

    @Test(
        "Only ParseStorage, Postgres, LocalPostgres and the Storage folders of features contain SQL",
        arguments: mayImport.keys.sorted())
    func statements(module: String) throws {
        guard !["ParseStorage", "Postgres", "LocalPostgres"].contains(module) else { return }
        for file in try Self.files(of: module) where !file.pathComponents.contains("Storage") {
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in ["SELECT ", "INSERT INTO ", "DELETE FROM ", "UPDATE \\\"", "pg_advisory"] {
                #expect(!text.contains(word), "\(file.lastPathComponent) has \(word) in it")
            }
        }
    }

    @Test(
        "On Linux no module imports full Foundation, which would link ICU",
        arguments: mayImport.keys.sorted())
    func essentials(module: String) throws {
        for file in try Self.files(of: module) {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            for (line, before) in zip(lines.dropFirst(), lines) where line.hasSuffix("import Foundation") {
                #expect(before == "#else", "\(file.lastPathComponent) imports Foundation")
            }
            #expect(lines.first?.hasSuffix("import Foundation") != true, "\(file.lastPathComponent) imports Foundation")
        }
    }

    @Test("The Rules module never awaits")
    func rulesArePure() throws {
        for file in try Self.files(of: "Rules") {
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(!text.contains(" await "), "\(file.lastPathComponent) waits for something")
        }
    }
}
