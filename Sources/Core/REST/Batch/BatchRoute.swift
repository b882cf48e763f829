import Encoding
import HTTP
import JSON
import Limits
import Operations
import ParseModel
import ParseStorage
import Rules

extension RouteTable {
    static let batch = Route(.post, "batch") { routes, call in try await routes.batch(call.envelope, call.context) }
}

/// `POST /batch`: several calls in one request.
extension ParseRoutes {
    /// The default maximum number of calls in a batch. SDKs send at most 50.
    private static let maxElements = 1000

    /// The maximum number of calls in a batch that check or set a password. Each costs as much as thousands of others.
    private static let maxPasswords = 10

    func batch(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply {
        guard let requests = envelope.body["requests"]?.arrayValue else {
            throw ParseError(ParseError.invalidJSON, "requests must be an array")
        }
        let limit = configuration.requestComplexity.batchRequestLimit ?? Self.maxElements
        guard requests.count <= limit || context.caller.readsEverything else {
            throw ParseError(
                ParseError.invalidJSON,
                "Batch request contains \(requests.count) sub-requests, which exceeds the limit of \(limit).")
        }
        let elements = try elements(requests, of: envelope)
        let passwords = elements.count { Users.computesHashes($0.path, isWrite: Self.writes($0), $0.body) }
        guard passwords <= Self.maxPasswords || context.caller.writesEverything else {
            throw ParseError(
                ParseError.invalidJSON,
                "Batch request contains \(passwords) log-in and password requests, which exceeds the limit of "
                    + "\(Self.maxPasswords).")
        }
        for limiter in [limits.limiter, declaredLimits?.limiter] {
            try await limiter?.count(elements, context.caller.user)
        }
        let isTransaction = envelope.body["transaction"] == true
        let memory = HeldMemory(in: .answers, depth: envelope.origin.memoryDepth)
        defer { memory.leave() }
        var results =
            isTransaction
            ? try await together(elements, context) : try await sideBySide(elements, context, memory)
        let size = results.reduce(16) { $0 + $1.count + 1 }
        return .json(await HeavyWork.run(.writing(size)) { Self.list(&results, size) })
    }

    /// Joins the responses and frees each one, so that they aren't in memory twice.
    private static func list(_ results: inout [[UInt8]], _ size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        bytes.append(UInt8(ascii: "["))
        for index in results.indices {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += results[index]
            results[index] = []
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }

    /// Returns the calls of a batch, with the credentials of the whole request.
    ///
    /// - Throws: 107 for a call that can't be batched, or 119 if `routeAllowList` forbids it. Either rejects the batch.
    func elements(_ requests: [JSONValue], of envelope: Envelope) throws(ParseError) -> [Envelope] {
        var elements: [Envelope] = []
        let prefixes = prefixes
        for request in requests { elements.append(try element(request, of: envelope, prefixes: prefixes)) }
        return elements
    }

    private func element(_ request: JSONValue, of envelope: Envelope, prefixes: [String]) throws(ParseError) -> Envelope
    {
        guard let path = request["path"]?.stringValue else {
            throw ParseError(ParseError.invalidJSON, "batch request path must be a string")
        }
        let (text, query) = Self.split(path)
        guard let below = Self.below(text, prefixes) else {
            throw ParseError(ParseError.invalidJSON, "cannot route batch path \(path)")
        }
        let given = request["method"]?.stringValue ?? "undefined"
        // Presets before 9 accept method names only in upper case.
        let known = configuration.preset >= 9 || given == "PATCH" ? Method(name: given) : Method(rawValue: given)
        let name = known?.rawValue ?? given
        let components: [String]
        let values = FormEncoding.values(query)
        do throws(HTTPError) {
            components = try below.utf8.split(separator: Self.slash).map { component throws(HTTPError) in
                try EnvelopeOpener.decodeComponent(Substring(component))
            }
            guard !JSONBody.containsNull(values) else { throw JSONBody.nullCharacter }
        } catch {
            throw ParseError(ParseError.invalidJSON, error.message)
        }
        if !envelope.origin.isInternal { try checkAllowed(name, components, envelope.power) }
        guard let method = known,
            RouteTable.match(method, components)?.traits.contains(.batchable) == true
        else {
            let asked = known == .put && given.asciiUppercased == "PATCH" ? "PATCH" : name
            throw ParseError(ParseError.invalidJSON, "cannot route \(asked) \(below)")
        }
        var body = request["body"]?.objectValue ?? [:]
        if body.keys.contains(where: { $0.utf8.first == UInt8(ascii: "_") }) {
            for key in Self.credentialKeys { body[key] = nil }
        }
        var element = Envelope(
            from: envelope.origin, method: method, path: components, rawPath: below, query: values,
            queryString: query, body: body, isBatchElement: true)
        element.authority = envelope.authority?.ofElements
        return element
    }

    /// Reserved keys, mostly credentials, that old clients repeat in each call of a batch.
    private static let credentialKeys = [
        "_method", "_ApplicationId", "_ClientVersion", "_InstallationId", "_SessionToken", "_JavaScriptKey",
    ]

    private var prefixes: [String] {
        var prefixes = [configuration.mountPath]
        for url in [configuration.serverURL, configuration.publicServerURL ?? ""] {
            if let scheme = url.firstRange(of: "://"), let slash = url[scheme.upperBound...].firstIndex(of: "/") {
                prefixes.append(String(url[slash...]))
            }
        }
        // Migration scripts use the paths of the server they were written for.
        if configuration.preset >= 9 { prefixes += ["/parse", "/1", ""] }
        // The longest match wins: if the mount path is empty, every path matches it.
        return prefixes.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    private static let slash = UInt8(ascii: "/")

    private static func below(_ path: String, _ prefixes: [String]) -> String? {
        for prefix in prefixes {
            let rest = path.utf8.dropFirst(prefix.utf8.count)
            guard path.utf8.starts(with: prefix.utf8), prefix.isEmpty || rest.first == slash else { continue }
            // Without a mount path, some SDKs send two slashes.
            return "/" + String(Substring(rest.drop { $0 == slash }))
        }
        return nil
    }

    private static func split(_ path: String) -> (path: String, query: String) {
        guard let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (path, "") }
        return (String(path[..<mark]), String(path[path.utf8.index(after: mark)...]))
    }

    /// The maximum number of concurrent calls in a batch with reads, each of which may return a large response.
    private static let readsAtOnce = 8

    /// The maximum number of concurrent calls, equal to the largest batch that SDKs send. A call that waits for the
    /// database takes about 40 KB, and cloud code has a few hundred slots for all clients.
    private static let callsAtOnce = 50

    private func sideBySide(
        _ elements: [Envelope], _ context: RequestContext, _ memory: HeldMemory
    ) async throws -> [[UInt8]] {
        if elements.count > 1, !configuration.readOnly, elements.allSatisfy(Self.isPlainCreation),
            // Save triggers would run before and after storing all objects, instead of around each.
            !elements.contains(where: { backend.triggers.callsSaveTriggers($0.path[1]) })
        {
            // "Save all" of new objects usually takes one round trip and one commit.
            let outcomes = try await backend.saving.createAll(elements.map { ($0.path[1], $0.body) }, context)
            return try outcomes.map { outcome in
                switch outcome {
                case .success(let result): return Self.success(Reply.saved(result, context.caller))
                case .failure(let error): return try errors.element(for: error, requestID: elements[0].id)
                }
            }
        }
        let reads = elements.contains { $0.method == .get }
        let atOnce = reads ? Self.readsAtOnce : Self.callsAtOnce
        let sender = Sender.current
        let more = batchCalls.enter(upTo: min(atOnce, elements.count) - 1, of: sender)
        defer { batchCalls.leave(weight: more, of: sender) }
        return try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            var waiting = elements.enumerated().makeIterator()
            var open = 0
            func begin(upTo limit: Int) {
                while open < limit, let (index, element) = waiting.next() {
                    group.addTask { (index, try await self.outcome(of: element, context, memory)) }
                    open += 1
                }
            }
            // Read sizes aren't known in advance, so concurrency doubles only while the responses are small.
            var limit = reads ? 1 : 1 + more
            begin(upTo: limit)
            var results = [[UInt8]](repeating: [], count: elements.count)
            var size = 0
            for try await (index, bytes) in group {
                results[index] = bytes
                open -= 1
                size += bytes.count
                try AnswerSize.check(size, configuration.maxResponseSize)
                if size >= HeldMemory.smallest { memory.count(size) }
                if reads { limit = Cost.writing(size).isSlow ? 1 : min(1 + more, 2 * limit) }
                begin(upTo: limit)
            }
            return results
        }
    }

    /// Whether a call is a POST or PUT, whose body may set a password.
    static func writes(_ element: Envelope) -> Bool { element.method == .post || element.method == .put }

    /// Returns the batch response element of a successful call.
    static func success(_ reply: Reply) -> [UInt8] {
        guard case .json(let bytes) = reply.body else { return Array("{\"success\":{}}".utf8) }
        var element: [UInt8] = []
        element.reserveCapacity(bytes.count + 12)
        element += successStart
        element += bytes
        element.append(UInt8(ascii: "}"))
        return element
    }

    private static let successStart = Array("{\"success\":".utf8)

    private static func element(for reply: Reply) async -> [UInt8] {
        guard case .json(let bytes) = reply.body else { return success(reply) }
        return await HeavyWork.run(.writing(bytes.count)) { success(reply) }
    }

    /// Whether a call creates an object of a custom class, which has no special rules.
    private static func isPlainCreation(_ element: Envelope) -> Bool {
        element.method == .post && element.path.count == 2 && element.path[0].asciiLowercased == "classes"
            && !element.path[1].hasPrefix("_")
    }

    /// - Parameter memory: Counts the batch's responses. The first large read may wait until others release memory.
    private func outcome(
        of element: Envelope, _ context: RequestContext, _ memory: HeldMemory
    ) async throws -> [UInt8] {
        do {
            guard element.method == .get else { return Self.success(try await route(element, context)) }
            return try await memory.reading(size: \.count) {
                let reply = try await route(element, context)
                return await Self.element(for: reply)
            }
        } catch {
            return try errors.element(for: error, requestID: element.id)
        }
    }
}
