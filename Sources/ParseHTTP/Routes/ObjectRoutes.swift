import Backend
import JSON
import ParseModel

/// `/classes/<Class>` and the routes that are other names for it.
extension ParseRoutes {
    /// Serves a class, or one of its objects.
    ///
    /// - Parameter rest: The path below the class: nothing, or an id.
    func object(
        _ className: String, _ rest: ArraySlice<String>, _ envelope: Envelope, _ context: RequestContext
    ) async throws -> Reply? {
        guard rest.count <= 1 else { return nil }
        switch (envelope.method, rest.first) {
        case (.get, nil): return .json(try await backend.find(className, envelope.parameters, context))
        case (.get, .some(let id)): return .json(try await backend.get(className, id, envelope.parameters, context))
        case (.post, nil):
            let result = try await once(envelope, context) {
                try await backend.create(className, envelope.body, context)
            }
            return Self.reply(try await backend.shown(result, className, nil, context))
        case (.put, .some(let id)):
            let result = try await once(envelope, context) {
                try await backend.update(className, id, envelope.body, context)
            }
            return Self.reply(try await backend.shown(result, className, id, context))
        case (.delete, .some(let id)):
            try await backend.delete(className, id, context)
            return .object([:])
        default: return nil
        }
    }

    /// Runs a write unless the same request was served before.
    ///
    /// - Throws: 159 for a request whose id was seen.
    private func once(
        _ envelope: Envelope, _ context: RequestContext, _ body: () async throws -> WriteResult
    ) async throws -> WriteResult {
        // The Objective-C SDKs send one id for the whole life of the process: it says nothing about a request.
        let version = envelope.credentials.clientVersion?.lowercased() ?? ""
        let first = envelope.path.first?.lowercased()
        if !envelope.isBatchElement, first == "classes" || first == "users" || first == "installations",
            let id = envelope.credentials.requestID, !id.isEmpty,
            !["i", "osx", "apple-"].contains(where: version.hasPrefix) || version.hasPrefix("ios-")
        {
            try await backend.claim(request: id, path: envelope.path.joined(separator: "/"), context)
        }
        return try await body()
    }

    static func reply(_ result: WriteResult) -> Reply {
        var reply = Reply.object(result.body, status: result.status)
        if let location = result.location { reply.headers.append(("Location", location)) }
        return reply
    }

    /// `/users`: the class `_User`, and the caller's own record as `me`.
    func users(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        let rest = envelope.path.dropFirst()
        if envelope.method == .get, rest.map({ $0.lowercased() }) == ["me"] {
            return .json(try await backend.me(context))
        }
        return try await object("_User", rest, envelope, context)
    }

    /// `/sessions`: the class `_Session`, and the session of the request's token as `me`.
    func sessions(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        let rest = envelope.path.dropFirst()
        if envelope.method == .get, rest.map({ $0.lowercased() }) == ["me"] {
            return .object(try await backend.session(token: envelope.credentials.sessionToken, context))
        }
        return try await object("_Session", rest, envelope, context)
    }

    /// `/installations`: listing and removing need the master key here.
    func installations(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        let rest = envelope.path.dropFirst()
        return try await object("_Installation", rest, envelope, context)
    }
}
