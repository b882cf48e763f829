import HTTP
import Operations
import ParseModel
import ParseStorage
import Rules

extension ParseRoutes {
    /// The maximum number of calls in a client's transaction, which holds a connection and locks until the end.
    private static let maxCalls = 200

    /// Runs all calls in order in one transaction.
    ///
    /// - Throws: The first error. An error before the commit rolls everything back. An error of the follow-up work
    ///   after the commit leaves the changes stored.
    func together(_ elements: [Envelope], _ context: RequestContext) async throws -> [[UInt8]] {
        guard elements.count <= Self.maxCalls || context.caller.readsEverything else {
            throw ParseError(
                ParseError.invalidJSON,
                "Transaction contains \(elements.count) sub-requests, which exceeds the limit of \(Self.maxCalls).")
        }
        // A schema change uses another connection, so it and the transaction would wait for each other. A login hashes
        // a password while the transaction holds its locks.
        for element in elements
        where RouteTable.match(element.method, element.path)?.traits.contains(.transactional) != true {
            throw ParseError(
                ParseError.invalidJSON, "\(element.method.rawValue) \(element.rawPath) can't be part of a transaction."
            )
        }
        let onlyReads = elements.allSatisfy { RouteTable.match($0.method, $0.path)?.onlyReads == true }
        guard onlyReads || !configuration.readOnly else { throw ParseError.serverOnlyReads }
        let writes = elements.map(Self.write)
        let steps = await backend.transactions.plan(writes, context)
        let (outcomes, replies) = try await backend.transaction(.batches) { backend in
            try await backend.transactions.lock(writes, context)
            let routes = over(backend)
            var outcomes: [TransactionOutcome] = []
            var replies: [[UInt8]] = []
            var (answers, kept) = (0, 0)
            for (element, step) in zip(elements, steps) {
                let outcome = try await backend.transactions.carryOut(
                    step, context, keptFor: element.authority?.operatorName)
                var reply: [UInt8] = []
                if case .call = step { reply = Self.success(try await routes.route(element, context)) }
                answers += reply.count + outcome.answerSize
                kept += outcome.keptSize
                try AnswerSize.check(answers, configuration.maxResponseSize)
                try backend.transactions.checkMemory(answers + kept, context.caller)
                outcomes.append(outcome)
                replies.append(reply)
            }
            return (outcomes, replies)
        }
        await backend.transactions.report(outcomes)
        return try await finish(outcomes, replies, context.caller)
    }

    /// Runs each call's follow-up work after the commit, even if another's fails, because all changes are stored.
    ///
    /// - Throws: The first error.
    private func finish(_ outcomes: [TransactionOutcome], _ replies: [[UInt8]], _ caller: Caller) async throws
        -> [[UInt8]]
    {
        var results = replies
        var failure: (any Error)?
        for (index, outcome) in outcomes.enumerated() {
            if case .nothing = outcome { continue }
            do {
                let result = try await backend.transactions.finish(outcome)
                results[index] = Self.success(result.map { Reply.saved($0, caller) } ?? .object([:]))
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return results
    }

    private static func write(_ element: Envelope) -> TransactionWrite? {
        guard let (className, objectId) = ClassPath.target(of: element.path) else { return nil }
        switch (element.method, objectId) {
        case (.post, nil): return TransactionWrite(.create, className, element.body)
        case (.put, let id?): return TransactionWrite(.update(objectId: id), className, element.body)
        case (.delete, let id?): return TransactionWrite(.delete(objectId: id), className)
        default: return nil
        }
    }
}
