import Encoding
import HTTP
import JSON
import Limits
import NIOCore
internal import Operations
internal import ParseModel
import Rules

package struct ExportWish: Sendable {
    let className: String
    /// The parameters `where`, `order` and `keys`.
    let find: JSONObject
    let format: ExportWriter.Format
    let isGuarded: Bool

    package init(_ body: JSONObject) throws(HTTPError) {
        guard let className = body["className"]?.stringValue else {
            throw HTTPError(status: 400, message: "className is required.")
        }
        guard let format = (body["format"]?.stringValue).flatMap(ExportWriter.Format.init(rawValue:)) else {
            throw HTTPError(status: 400, message: "format must be csv, json or ndjson.")
        }
        self.className = className
        self.format = format
        isGuarded = body["safe"] != false
        find = body.filter { ["where", "order", "keys"].contains($0.key) && !$0.value.isNull }
    }

    /// Returns the columns of a CSV file: the requested ones, or all fields except relations and the password.
    func columns(_ schema: ClassSchema?) -> [Name] {
        if let keys = find["keys"] { return keys.parameterNames.map { Name($0) } }
        return (schema?.fields ?? [:]).filter { !$0.value.type.isRelation && $0.key != "password" }.map(\.key)
    }
}

extension ConsoleRouteTable {
    static let exports: [ConsoleRoute] = [
        ConsoleRoute(.post, "exports", .viewer, .nothing) { try await ExportCalls(call: $0).beginExport() },
        ConsoleRoute(.get, "exports/:id", .viewer) { try await ExportCalls(call: $0).export() },
        ConsoleRoute(.delete, "exports/:id", .viewer, .account) {
            try await ExportCalls(call: $0).stopExport()
        },
    ]
}

private struct ExportCalls: ConsoleCalls {
    let call: ConsoleCall

    private var ownToken: [UInt8] { ConsoleSecrets.hash(visit.fields.token ?? "") }

    func beginExport() async throws -> Reply {
        let wish = try ExportWish(try await body())
        try interface.check(wish, role)
        let context = context
        let total = try await interface.finds.run(of: visit.sender) {
            try await interface.backend.objectExport.count(wish.className, wish.find, context)
        }
        return try await call.audited(
            "exports", className: wish.className, count: total, fields: wish.find["keys"]?.parameterNames ?? []
        ) {
            let item = ConsoleExports.Item(
                id: Identifiers.alphanumeric(10), secret: ConsoleSecrets.make(), token: ownToken, wish: wish,
                total: total)
            try interface.exports.add(item)
            var answer = item.json
            answer["url"] = .string("\(visit.path)/api/exports/once/\(item.secret)")
            return .object(answer, status: 201)
        }
    }

    /// Returns the progress of an export. Waits up to `wait` seconds, at most 20, for a change.
    func export() async throws -> Reply {
        let end = ContinuousClock.now + .seconds(min(20, max(0, query["wait"]?.numberValue ?? 0)))
        let first = try interface.exports.item(arguments[0], of: ownToken)
        while true {
            let item = try interface.exports.item(arguments[0], of: ownToken)
            let isUnderWay = item.state == .waiting || item.state == .running
            guard isUnderWay, item.state == first.state, item.done == first.done, ContinuousClock.now < end else {
                return .object(item.json)
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    func stopExport() async throws -> Reply {
        interface.exports.end(try interface.exports.item(arguments[0], of: ownToken).id, .cancelled)
        return .object([:])
    }
}

extension ConsoleInterface {
    /// Rejects an export of data that the role may not query.
    fileprivate func check(_ wish: ExportWish, _ role: ConsoleRole) throws(HTTPError) {
        let path = ["classes", wish.className]
        try check(ConsoleGate.Call(path: path, method: "GET", onlyReads: true, parameters: wish.find), for: role)
    }

    /// Responds to a download URL with the exported file.
    ///
    /// - Throws: 404 for an invalid URL or session, 403 for the role, 429 for too many exports, or a database error.
    func download(_ visit: ConsoleVisit, _ secret: Substring) async throws -> Reply {
        let gone = HTTPError(status: 404, message: "This download link is no longer valid. Start the export again.")
        guard visit.request.method == "GET", let item = exports.beginDownload(String(secret)) else { throw gone }
        let sending = ConsoleExportSending(item.id, of: exports)
        let cookies = cookies(of: visit)
        let role: ConsoleRole
        let place: GatePlace
        do {
            guard let given = try await self.role(cookies, item.token) else { throw gone }
            role = given
            try check(item.wish, role)
            // Once the response has begun, it can no longer become an error.
            place = try await self.place(
                in: exports.gate, of: Sender(address: item.token.hexadecimal), "Other exports")
        } catch {
            exports.end(item.id, .failed, (error as? HTTPError)?.message ?? "")
            throw error
        }
        let wish = item.wish
        let writer = ExportWriter(
            format: wish.format, isGuarded: wish.isGuarded,
            columns: wish.columns(backend.catalog.schema(wish.className)))
        let context = context(of: visit, role)
        let (exports, objects, dispatcher, request) = (exports, backend.objectExport, dispatcher, visit.request.id)
        // The response body might never be read, so the closure owns the export and ends it when released.
        let stream = Reply.ByteStream(length: nil) { [sending] sink in
            defer {
                place.release()
                _ = sending
            }
            do {
                try await Self.write(item, writer, exports, objects, context, to: sink) {
                    guard try await self.role(cookies, item.token) == role else {
                        throw HTTPError(status: 401, message: "The session has ended, or its role has changed.")
                    }
                }
                exports.end(item.id, .done)
            } catch {
                var words = ""
                if case .json(let bytes) = dispatcher.reply(to: error, request).body {
                    words = (try? JSONValue(parsing: bytes))?["error"]?.stringValue ?? ""
                }
                exports.end(item.id, .failed, words)
                throw error
            }
        }
        // Class names are letters, digits and underscores, unless another program created them.
        let name = PercentEncoding.encode(wish.className)
        return Reply(
            headers: [
                ("Content-Type", wish.format.contentType),
                ("Content-Disposition", "attachment; filename*=UTF-8''\(name).\(wish.format.rawValue)"),
                ("Content-Security-Policy", "default-src 'none'; sandbox"),
            ], body: .stream(stream))
    }

    /// Returns the current role of a browser's session, or nil if the session has ended.
    func role(_ cookies: [String], _ token: [UInt8]) async throws -> ConsoleRole? {
        try await session(cookies: cookies, token: token).flatMap { ConsoleRole(rawValue: $0.role) }
    }

    /// The time limit of an export. Its long transaction keeps PostgreSQL from removing deleted rows.
    private static let longestExport = Duration.seconds(3_600)
    private static let pieceSize = 256 * 1024

    private static func write(
        _ item: ConsoleExports.Item, _ writer: ExportWriter, _ exports: ConsoleExports, _ objects: ObjectExport,
        _ context: RequestContext, to sink: @escaping Reply.ByteStream.Sink,
        checkingSession: @escaping @Sendable () async throws -> Void
    ) async throws {
        let caller = CallerPresence.current
        try await sink(ByteBuffer(bytes: writer.head))
        let end = ContinuousClock.now + longestExport
        try await objects.visit(item.wish.className, item.wish.find, context) { found in
            // Stops if the session has ended or its role has changed.
            try await checkingSession()
            let before = try exports.item(item.id, of: item.token).done
            let text = try await HeavyWork.run { try writer.text(of: found, isFirst: before == 0) }
            found.release()
            for start in stride(from: 0, to: text.count, by: pieceSize) {
                // Writes to a closed connection are silently dropped.
                guard !exports.isStopped(item.id), caller?.hasLeft != true else { throw CancellationError() }
                guard ContinuousClock.now < end else {
                    throw HTTPError(status: 503, message: "The export took longer than an hour.")
                }
                let piece = text[start..<min(start + pieceSize, text.count)]
                try await sink(ByteBuffer(bytes: piece))
                guard !exports.blocksOthers(item.id, sent: piece.count) else {
                    throw HTTPError(status: 503, message: "The download was too slow while other exports waited.")
                }
            }
            exports.change(item.id) { $0.done = before + found.rowCount }
        }
        try await sink(ByteBuffer(bytes: writer.tail))
        guard caller?.hasLeft != true else { throw CancellationError() }
    }
}
