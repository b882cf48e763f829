import CLibpq

/// A statement that a connection runs before the first request.
enum Greeting {
    /// Sets what the server options would have set.
    case settings
    /// Queries the search path, to detect a pooler that ignored the server options.
    case path
    /// Queries the server's timeline.
    case timeline

    func statement(_ settings: String?) -> String {
        switch self {
        case .settings: settings ?? ""
        case .path: SearchPath.question
        case .timeline: TimelineWatch.question
        }
    }
}

extension Connection {
    /// The statement that replaces the server options, or nil if they apply or there are none.
    var settings: String? { isWithoutOptions ? parameters.settings : nil }

    /// The statement that sets the search path in each transaction, or nil if the server options suffice.
    var pathStatement: EncodedStatement? { isWithoutOptions ? parameters.pathStatement : nil }

    /// Sends the statements that come before the first request.
    func greet() {
        greetings.removeAll()
        if settings != nil { greetings.append(.settings) }
        if parameters.path != nil, !isWithoutOptions { greetings.append(.path) }
        if parameters.checksTimeline { greetings.append(.timeline) }
        guard !greetings.isEmpty else { return beginTakingRequests() }
        state = .greeting
        for greeting in greetings { begin(own: greeting.statement(settings)) }
    }

    /// Handles the response to a statement that ran before the first request.
    func didGreet(_ request: Request) {
        let greeting = greetings.popFirst()
        let answer = request.results.first?.string(0, 0)
        switch greeting {
        // A server that doesn't report its timeline is accepted.
        case .timeline where request.sending.error != nil: break
        case .timeline:
            guard let answer, let handle else { break }
            let server = ServerAddress(
                host: PQhost(handle).map { String(cString: $0) } ?? "",
                port: PQport(handle).map { String(cString: $0) } ?? "")
            guard context.timelines.admits(answer, of: server, at: context.now) else {
                context.logger.error(
                    "rejected an old primary: another server has a newer timeline",
                    metadata: ["host": "\(server.host)", "port": "\(server.port)", "timeline": "\(answer)"])
                return fail(PostgresError(.unavailable, "the server is an old primary"))
            }
        case .path where request.sending.error == nil && answer != parameters.path?.text:
            // A pooler accepted the server options but ignored them.
            isWithoutOptions = true
            if context.refusingOptions.insert(parameters.address).inserted {
                context.logger.info("pooler drops the parameter options, using SET in each session instead")
            }
            greetings.append(.settings)
            begin(own: Greeting.settings.statement(settings))
        case .settings, .path, nil:
            if let error = request.sending.error {
                return fail(PostgresError(.unavailable, error.message, sqlState: error.sqlState))
            }
        }
        if inFlight.isEmpty { beginTakingRequests() }
    }
}
