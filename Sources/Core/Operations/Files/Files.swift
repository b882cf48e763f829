package import FileStorage
package import JSON
import Logging
import ParseModel
import ParseStorage
package import Rules
import ServerConfiguration

/// Uploaded files: who may store, read and delete them, and what cloud code has to say about it.
///
/// Who asks is found out by a closure, when a rule needs it: keys that are refused cost no look-up of a session.
public struct Files: Sendable, BackendPart {
    let backend: Backend
    package let storage: any FileStorage

    /// The address of a file, as every answer about it has it.
    func address(of name: String, _ context: RequestContext) -> String {
        services.fileLinks.below(context.mountURL).url(name)
    }

    /// What a client gets of an error of the storage. What may pass is a 503, after which SDKs try again.
    func refusal(_ error: any Error, _ code: Int, _ text: String) -> any Error {
        guard case FileStorageError.unavailable(let seconds) = error else { return ParseError(code, text) }
        return ServiceUnavailable(text, retryAfter: seconds, code: code)
    }

    // MARK: Deletion

    /// Deletes a file.
    ///
    /// - Parameters:
    ///   - path: Its name, with folders; the application's id may stand before it.
    ///   - power: What the keys of the caller are worth.
    ///   - caller: Finds out who deletes it.
    /// - Throws: `Forbidden` for all but the master key, 153 when it cannot be deleted, what a trigger throws.
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
        let file =
            backend.triggers.has(.beforeDelete, .afterDelete)
            ? try await backend.triggers.file(name, url: address(of: name, context), context) : nil
        if let file { try await backend.triggers.call(.beforeDelete, file) }
        do {
            try await storage.delete(name: name)
        } catch {
            throw deletionRefusal(error)
        }
        if let file { try await backend.triggers.call(.afterDelete, file) }
    }

    private func deletionRefusal(_ error: any Error) -> any Error {
        refusal(error, ParseError.fileDeleteError, "Could not delete file.")
    }

    /// The file that a path names: the one of this name, or else the one after the application's id.
    private func nameToDelete(_ path: ArraySlice<String>) async throws -> String {
        let name = path.joined(separator: "/")
        guard path.count > 1, path.first.hasSameBytes(as: configuration.appId), try await !storage.exists(name: name)
        else { return name }
        return path.dropFirst().joined(separator: "/")
    }

    // MARK: Reading

    /// Finds out who reads a file. It is given whether cloud code is called before, for which requests are counted.
    package typealias Reader = (_ callsCode: Bool) async throws -> RequestContext

    /// Opens a file.
    ///
    /// - Returns: nil where there is none.
    /// - Throws: 119 for a caller who may read no files, `Forbidden` when a trigger refuses, the storage's error.
    package func open(_ name: String, for wish: FileWish, by reader: Reader) async throws -> (any StoredFile)? {
        try await read(name, by: reader, size: { Int($0.size) }, { try await storage.open(name: name, for: wish) })
    }

    /// What a client said about a file when it was stored; empty where it said nothing. What may not be read says nothing of
    /// itself either.
    ///
    /// - Throws: As ``open(_:for:by:)``.
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
        var file = try await backend.triggers.file(name, url: address(of: name, context), context)
        file.size = size
        do {
            try await backend.triggers.call(event, file)
        } catch let error as ParseError {
            throw Forbidden(error.message, publicMessage: nil)
        }
    }
}

extension Configuration.FileCallers {
    /// The group that a caller belongs to, in words, if that group is refused; nil when the caller may.
    func refusal(of caller: Caller) -> String? {
        guard caller.power == .client else { return nil }
        guard let user = caller.user else { return enableForPublic ? nil : "public" }
        if user.isAnonymous { return enableForAnonymousUser ? nil : "anonymous user" }
        return enableForAuthenticatedUser ? nil : "authenticated user"
    }
}
