import FileStorage
import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
internal import REST
import Rules

/// Files that apps uploaded.
extension ConsoleRouteTable {
    static let uploads: [ConsoleRoute] = [
        ConsoleRoute(.get, "files", .viewer) { try await FileCalls(call: $0).files() },
        ConsoleRoute(.get, "files/uses", .viewer) { try await FileCalls(call: $0).fileUses() },
    ]
}

private struct FileCalls: ConsoleCalls {
    let call: ConsoleCall

    /// How many files a page has, and how many objects that mention one are named.
    private static let (page, mostUses) = (100, 100)
    /// For how long objects are looked through.
    private static let longest = Duration.seconds(10)

    func files() async throws -> Reply {
        let texts = texts
        func text(_ name: Name) -> String { texts[name]?.stringValue ?? "" }
        guard let order = FileOrder(rawValue: text("sort").isEmpty ? "modified" : text("sort")) else {
            throw HTTPError(status: 400, message: "sort is modified, size or name.")
        }
        let context = context
        let wanted = query["limit"]?.parameterInteger ?? Self.page
        guard let files = interface.backend.files else { return .object([:]) }
        do {
            return try await interface.searching.run {
                .object(
                    try await files.page(
                        prefix: text("prefix"), text: text("text"), order: order, after: texts["after"]?.stringValue,
                        limit: min(1_000, max(1, wanted)), context))
            }
        } catch let error as FileStorageError {
            throw HTTPError(status: 503, message: "\(error)")
        }
    }

    func fileUses() async throws -> Reply {
        guard let name = texts["name"]?.stringValue, !name.isEmpty, !name.utf8.contains(0) else {
            throw HTTPError(status: 400, message: "name says which file.")
        }
        let (store, catalog) = (interface.backend.store, interface.backend.catalog)
        let classes = catalog.snapshot.classes
        let schemas = classes.keys.sorted()
            .filter { !SystemClass.volatileNames.contains($0) && $0 != "_Session" }.compactMap { classes[$0] }
        let (uses, isComplete) = try await interface.searching.run {
            try await store.fileUses.of(name, in: schemas, most: Self.mostUses, time: Self.longest)
        }
        return .object([
            "uses": .array(
                uses.map {
                    [
                        "className": .string($0.className), "objectId": .string($0.objectId),
                        "field": .string($0.field),
                    ]
                }), "isComplete": .bool(isComplete),
        ])
    }
}
