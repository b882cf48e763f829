import Encoding
import JSON
internal import Operations
internal import ParseModel

/// Class views saved by operators: filter, order and columns.
package struct SavedViews: Sendable {
    let backend: Backend

    private static let maxViews = 1_000
    /// Size limits in bytes per view and per operator, because a list returns all views.
    private static let maxBytes = (one: 64 * 1024, all: 1024 * 1024)

    /// Returns the operator's own views and those shared by others.
    package func list(for operatorName: String) async throws -> [SavedView] {
        try await backend.store.views.list(for: operatorName)
    }

    /// Saves an operator's view, replacing an existing view with its id.
    ///
    /// - Throws: 102 if the id isn't 1 to 32 letters and digits, 103 or 105 if a name is invalid, 116 if the view is
    ///   too large, 119 if the id belongs to another operator or the operator's views exceed a limit.
    package func put(_ view: SavedView) async throws {
        guard (1...32).contains(view.id.utf8.count), view.id.utf8.allSatisfy(\.isASCIIAlphanumeric) else {
            throw ParseError(ParseError.invalidQuery, "The view's id must be 1 to 32 letters and digits.")
        }
        guard (1...128).contains(view.className.utf8.count) else {
            throw ParseError(ParseError.invalidClassName, "The view's className must have 1 to 128 bytes.")
        }
        guard (1...200).contains(view.name.utf8.count) else {
            throw ParseError(ParseError.invalidKeyName, "The view's name must have 1 to 200 bytes.")
        }
        guard JSONValue.object(view.content).text.utf8.count <= Self.maxBytes.one else {
            throw ParseError(ParseError.objectTooLarge, "A view can't exceed \(Self.maxBytes.one) bytes.")
        }
        guard try await backend.store.views.put(view, limit: Self.maxViews, maxBytes: Self.maxBytes.all) else {
            throw ParseError(
                ParseError.operationForbidden,
                "The view belongs to another operator, or the limit of \(Self.maxViews) views or \(Self.maxBytes.all) bytes is reached."
            )
        }
    }

    /// Deletes an operator's view.
    ///
    /// - Throws: 101 if the operator has no view with this id.
    package func delete(_ id: String, of operatorName: String) async throws {
        guard try await backend.store.views.remove(id, of: operatorName) else { throw ParseError.notFound }
    }
}
