import CLibpq

/// What is asked, or set, before requests are taken.
enum Greeting {
    /// Sets the session up where the server's options could not be sent.
    case settings
    /// Asks where names are looked for.
    case path
    /// Asks how far the server is in the history of the database.
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
    /// What sets the session up where the server's options could not be sent; nil where they were.
    var settings: String? { isWithoutOptions ? parameters.settings : nil }

    /// What a transaction begins with where the session may be another one's afterwards; nil where the session keeps it.
    var pathStatement: EncodedStatement? { isWithoutOptions ? parameters.pathStatement : nil }

    /// Asks what has to be known before requests are taken.
    func greet() {
        greetings.removeAll()
        if settings != nil { greetings.append(.settings) }
        if parameters.path != nil, !isWithoutOptions { greetings.append(.path) }
        if parameters.checksTimeline { greetings.append(.timeline) }
        guard !greetings.isEmpty else { return beginTakingRequests() }
        state = .greeting
        for greeting in greetings { begin(own: greeting.statement(settings)) }
    }

    /// An answer to the greeting is there.
    func didGreet(_ request: Request) {
        let greeting = greetings.popFirst()
        let answer = request.results.first?.string(0, 0)
        switch greeting {
        // Where a server does not say how far it is, nothing is known against it.
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
            // A pooler took the server's options and forgot them.
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
