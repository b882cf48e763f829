import FileStorage
import HTTP
import JSON
internal import Operations
internal import REST
import Rules

/// The route that lists the stored files.
extension ConsoleRouteTable {
    static let uploads: [ConsoleRoute] = [
        ConsoleRoute(.get, "files", .viewer) { try await FileCalls(call: $0).files() }
    ]
}

private struct FileCalls: ConsoleCalls {
    let call: ConsoleCall

    private static let page = 100

    func files() async throws -> Reply {
        let texts = texts
        func text(_ name: Name) -> String { texts[name]?.stringValue ?? "" }
        guard let order = FileOrder(rawValue: text("sort").isEmpty ? "modified" : text("sort")) else {
            throw HTTPError(status: 400, message: "sort must be modified, size or name.")
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
}
