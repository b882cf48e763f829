import CloudCode
import Encoding
import HTTP
import JSON
import Limits
import ParseModel
import Platform

/// `POST /functions/<name>`.
extension RouteTable {
    static let functions = [
        Route(.post, "functions/:name", [.batchable, .idempotent, .form]) { routes, call in
            // The calling user's object counts toward the memory limit until the function returns.
            try await HeldMemory.run(in: .values, depth: call.envelope.origin.memoryDepth) {
                try await routes.callFunction(call)
            }
        }
    ]
}

extension ParseRoutes {
    fileprivate func callFunction(_ call: RouteCall) async throws -> Reply {
        let name = call[0]
        let target = CloudTarget.function(Name(name))
        guard let cloud, cloud.offers(target) else { throw Self.noFunction(name) }
        var request = CloudCall(target, try await backend.triggers.withUser(call.context))
        request.params = call.envelope.body
        let uploads = call.envelope.uploads
        for (name, file) in uploads { request.params[name] = file.json }
        // Query values are passed as strings.
        let query = call.envelope.queryString.isEmpty ? [:] : call.envelope.queryText
        request.params.merge(query) { $1 }
        request.uploads = uploads.keys.filter { query[$0] == nil }
        guard let result = try await cloud.call(request) else { throw Self.noFunction(name) }
        return try Self.reply(to: result)
    }

    private static func reply(to result: CloudResult) throws(ParseError) -> Reply {
        let status = result.status ?? 200
        // With an informational status, the client would wait for another response.
        guard (200...599).contains(status) else {
            throw ParseError(ParseError.scriptFailed, "Cloud code can't set the status \(status). Use 200 to 599.")
        }
        var answer: JSONObject = [:]
        answer["result"] = result.value
        var reply =
            status == 204 || status == 205 || status == 304
            ? Reply(status: status, body: .empty) : Reply.object(answer, status: status)
        for (name, value) in result.headers {
            guard isOfCode(name) else {
                throw ParseError(ParseError.scriptFailed, "Cloud code can't set the header field \(name).")
            }
            reply.headers.append((name, value))
        }
        return reply
    }

    /// Whether cloud code may set a header field: the name is valid, and the server doesn't set the field itself.
    private static func isOfCode(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return !name.isEmpty && name.utf8.allSatisfy(MediaType.isTokenByte) && !ofServer.contains(Name(name))
    }

    private static let ofServer: Set<Name> = [
        "connection", "content-length", "date", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private static func noFunction(_ name: String) -> ParseError {
        ParseError(ParseError.scriptFailed, "Invalid function: \"\(name)\"")
    }
}

extension FormFile {
    fileprivate var json: JSONValue {
        [
            "filename": .string(filename), "contentType": .string(contentType),
            "data": .string(Data(bytes).base64EncodedString()),
        ]
    }
}
