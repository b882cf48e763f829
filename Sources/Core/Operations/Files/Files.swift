package import FileStorage
package import JSON
import ParseModel
import ParseStorage
package import Rules
import ServerConfiguration

/// Stores, reads and deletes uploaded files, with permission checks and file triggers.
///
/// Callers are resolved by closures only when a rule needs them, so requests with rejected keys cause no session
/// lookup.
public struct Files: Sendable, BackendPart {
    package let backend: Backend
    package let storage: any FileStorage

    /// Returns the URL of a file, as sent in all responses.
    func address(of name: String, _ context: RequestContext) -> String {
        services.fileLinks.below(context.mountURL).url(name)
    }

    /// Converts a storage error for the client. Temporary failures become a 503, which SDKs retry.
    func refusal(_ error: any Error, _ code: Int, _ text: String) -> any Error {
        guard case FileStorageError.unavailable(let seconds) = error else { return ParseError(code, text) }
        return ServiceUnavailable(text, retryAfter: seconds, code: code)
    }

    // MARK: Deletion

    /// Deletes a file.
    ///
    /// - Parameters:
    ///   - path: The name's path components, optionally preceded by the application id.
    ///   - power: The power of the caller's keys.
    ///   - caller: Resolves the caller. Not called if the keys are rejected.
    /// - Throws: `Forbidden` without the master key, 153 or `ServiceUnavailable` from the storage, errors of triggers.
    package func delete(
        _ path: ArraySlice<String>, power: Caller.Power, by caller: () async throws -> RequestContext
    ) async throws {
        switch power {
        case .master: break
        case .readOnlyMaster: throw Forbidden("read-only masterKey isn't allowed to delete a file.")
        case .client, .maintenance: throw Forbidden.masterKeyRequired
        }
        let context = try await caller()
        let name: String
        do {
            name = try await nameToDelete(path)
        } catch let error as FileStorageError {
            throw deletionRefusal(error)
        }
        let isTriggered = backend.triggers.has(.beforeDelete, .afterDelete)
        let file = TriggerFile(name: name, url: address(of: name, context))
        let request = isTriggered ? try await backend.triggers.withUser(context) : context
        if isTriggered { try await backend.triggers.call(.beforeDelete, file, request) }
        do {
            try await storage.delete(name: name)
        } catch {
            throw deletionRefusal(error)
        }
        if isTriggered { try await backend.triggers.call(.afterDelete, file, request) }
    }

    private func deletionRefusal(_ error: any Error) -> any Error {
        refusal(error, ParseError.fileDeleteError, "Could not delete file.")
    }

    /// Drops a leading application id, unless a file has the whole path as its name.
    private func nameToDelete(_ path: ArraySlice<String>) async throws -> String {
        let name = path.joined(separator: "/")
        guard path.count > 1, path.first.hasSameBytes(as: configuration.appId), try await !storage.exists(name: name)
        else { return name }
        return path.dropFirst().joined(separator: "/")
    }

    // MARK: Reading

    /// A function that resolves the reader of a file. `callsCode` is true if a `beforeFind` trigger follows, so that
    /// the rate limits of cloud code apply.
    package typealias Reader = (_ callsCode: Bool) async throws -> RequestContext

    /// Opens a file, or returns nil if it doesn't exist.
    ///
    /// - Throws: 119 if the caller may not read files, `Forbidden` if a trigger rejects, and errors of the storage.
    package func open(_ name: String, for wish: FileWish, by reader: Reader) async throws -> (any StoredFile)? {
        try await read(name, by: reader, size: { Int($0.size) }, { try await storage.open(name: name, for: wish) })
    }

    /// Returns a file's metadata, or an empty object if it has none. Metadata needs the same permissions as the file.
    ///
    /// - Throws: The errors of ``open(_:for:by:)``.
    package func metadata(of name: String, by reader: Reader) async throws -> JSONObject {
        try await read(name, by: reader, size: { _ in nil }, { try await storage.details(name: name).metadata }) ?? [:]
    }

    private func read<Found>(
        _ name: String, by reader: Reader, size: (Found) -> Int?, _ find: () async throws -> Found?
    ) async throws -> Found? {
        let callers = configuration.fileDownload
        if !callers.includesAll, let group = callers.refusal(of: try await reader(false).caller) {
            throw ParseError(ParseError.operationForbidden, "File download by \(group) is disabled.")
        }
        if backend.triggers.has(.beforeFind) { try await call(.beforeFind, name, try await reader(true)) }
        guard let found = try await find() else { return nil }
        if backend.triggers.has(.afterFind) {
            try await call(.afterFind, name, try await reader(false), size: size(found))
        }
        return found
    }

    private func call(_ event: FileEvent, _ name: String, _ context: RequestContext, size: Int? = nil) async throws {
        var file = TriggerFile(name: name, url: address(of: name, context))
        file.size = size
        let request = try await backend.triggers.withUser(context)
        do {
            try await backend.triggers.call(event, file, request)
        } catch let error as ParseError {
            throw Forbidden(error.message, publicMessage: nil)
        }
    }
}

extension Configuration.FileCallers {
    /// Returns the name of the caller's group if that group is denied, or nil if the caller is allowed.
    func refusal(of caller: Caller) -> String? {
        guard caller.power == .client else { return nil }
        guard let user = caller.user else { return enableForPublic ? nil : "public" }
        if user.isAnonymous { return enableForAnonymousUser ? nil : "anonymous user" }
        return enableForAuthenticatedUser ? nil : "authenticated user"
    }
}
