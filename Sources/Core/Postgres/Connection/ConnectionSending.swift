import CLibpq

extension Connection {
    /// Sends a read without a sync, which ``flush()`` adds for all reads sent until then. The batch is one transaction
    /// and usually one packet. If one read fails, those after it are resent.
    ///
    /// - Returns: Whether the request was accepted. If the connection breaks, the pool gets it among the lost requests.
    func sendInBatch(_ request: Request) -> Bool {
        guard isReady, PQstatus(handle) == CONNECTION_OK, case .statements(let statements) = request.content else {
            return false
        }
        begin(request, sharesSync: true)
        // The first read of a batch sets the search path for all of them.
        let isSetUp = inFlight.unsynced > 1 || setUp(request)
        if !isSetUp || !statements.allSatisfy({ add($0, to: request) }) { failWithLibpqMessage() }
        needsFlush = true
        return true
    }

    private func sync() {
        guard inFlight.endBatch() else { return }
        guard CLibpqPipelineSync(handle) == 1 else { return failWithLibpqMessage() }
        deallocateDropped()
    }

    private func begin(_ request: Request, sharesSync: Bool = false) {
        sequence += 1
        inFlight.append(request, sequence: sequence, sharesSync: sharesSync, at: context.now)
    }

    /// Sends a request, and prepares the statements that are new to this connection.
    ///
    /// - Parameter prelude: A statement to run first. Its result is dropped.
    /// - Returns: Whether the request was sent. If sending fails or the connection breaks later, the pool gets it among
    ///   the lost requests.
    func send(_ request: Request, prelude: EncodedStatement? = nil) -> Bool {
        sync()
        guard isReady, PQstatus(handle) == CONNECTION_OK else { return false }
        let status = PQtransactionStatus(handle)
        let needsSettingUp =
            prelude != nil || pool is SharedPool || status == PQTRANS_IDLE || (owesPath && status == PQTRANS_INTRANS)
        begin(request)
        var isSent = prelude.map { add($0, to: request, isCallers: false) } ?? true
        if needsSettingUp, isSent { isSent = setUp(request) }
        switch request.content {
        case .statements where !request.members.isEmpty:
            for member in request.members where isSent {
                isSent = member.statements.allSatisfy { add($0, to: request) }
                request.sending.endMember()
            }
        case .statements(let statements): isSent = isSent && statements.allSatisfy { add($0, to: request) }
        case .commit(let statement): isSent = isSent && add(statement, to: request)
        case .script(let script):
            start(script)
            return true
        }
        needsFlush = true
        guard isSent, CLibpqPipelineSync(handle) == 1 else {
            failWithLibpqMessage()
            return true
        }
        deallocateDropped()
        return true
    }

    /// Sets the search path for a request whose session doesn't keep it.
    private func setUp(_ request: Request) -> Bool {
        guard let pathStatement, case .statements(let statements) = request.content else { return true }
        owesPath = !parameters.isPathTransient && SearchPath.goesFirst(statements.first?.sql ?? "")
        return owesPath || add(pathStatement, to: request, isCallers: false)
    }

    /// Sends one of the connection's own statements. It isn't prepared, because it is sent only once.
    func begin(own sql: String) {
        let request = Request(.statements([]))
        begin(request)
        request.sending.addStatement()
        needsFlush = true
        guard PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1) == 1, CLibpqPipelineSync(handle) == 1 else {
            return failWithLibpqMessage()
        }
    }

    /// Ends the current batch of reads, and writes as much as the socket accepts.
    func flush() {
        sync()
        guard failure == nil else { return }
        needsFlush = false
        switch PQflush(handle) {
        case 0: isBlocked = false
        case 1: isBlocked = true
        default: failWithLibpqMessage()
        }
    }

    /// Drops the prepared statements of a request, because they are outdated or missing on the server. When the request
    /// is resent, it prepares its statements itself.
    func dropStatements(of request: Request) {
        guard case .statements(let statements) = request.content else { return }
        request.preparesAnew = true
        // A pooler would find the outdated plan again by its text.
        if sharesPlans { context.planGeneration = UInt64.random(in: 1 ... .max) }
        for member in request.members { member.preparesAnew = true }
        for statement in statements { cache.drop(statement.key, upTo: request.sending.sequence) }
    }

    /// Deallocates evicted statements on the server if that can't disturb a transaction.
    func deallocateDropped() {
        guard !cache.dropped.isEmpty else { return }
        guard sharesPlans || pool is SharedPool || (inFlight.isEmpty && !isInTransaction) else { return }
        // A pooler doesn't know these names, and evicts statements by itself.
        for name in cache.drainDropped() where !sharesPlans { begin(own: "DEALLOCATE \"\(name)\"") }
    }

    private func add(_ statement: EncodedStatement, to request: Request, isCallers: Bool = true) -> Bool {
        guard parameters.statements != .unprepared, !statement.isOneOff else {
            request.sending.addStatement(isCallers: isCallers)
            return execute(statement, nil)
        }
        let prepared: PreparedStatement
        if !request.preparesAnew, let known = cache.find(statement.key, sequence: sequence) {
            prepared = known
        } else {
            if request.preparesAnew { cache.drop(statement.key, upTo: sequence) }
            prepared = cache.insert(statement.key, sequence: sequence)
            guard prepare(statement, as: prepared) else { return false }
            request.sending.addPreparation(of: prepared)
        }
        request.sending.addStatement(isCallers: isCallers)
        return execute(statement, prepared)
    }

    private func setTypes(of statement: EncodedStatement) {
        types.removeAll(keepingCapacity: true)
        for slot in statement.slots { types.append(slot.type) }
    }

    private func prepare(_ statement: EncodedStatement, as prepared: PreparedStatement) -> Bool {
        setTypes(of: statement)
        let sql =
            sharesPlans && context.planGeneration > 0 ? "\(statement.sql) --\(context.planGeneration)" : statement.sql
        return PQsendPrepare(handle, prepared.name, sql, Int32(types.count), types) == 1
    }

    /// Whether statements may be prepared by a pooler, which recognizes them by their text: one is configured, or
    /// missing notifications suggest one.
    private var sharesPlans: Bool { parameters.statements == .preparedByPooler || context.isWithoutNotifications }

    private func execute(_ statement: EncodedStatement, _ prepared: PreparedStatement?) -> Bool {
        pointers.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        if statement.bytes.count > Self.largeMessage { isSwollen = true }
        while formats.count < statement.slots.count { formats.append(1) }
        // The pointers stay valid because the buffer is held for the whole call, and libpq copies what it needs.
        return statement.bytes.withUnsafeBytes { bytes in
            let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            for slot in statement.slots {
                pointers.append(slot.offset < 0 ? nil : start.map { $0 + Int(slot.offset) })
                lengths.append(slot.length)
            }
            guard let prepared else {
                setTypes(of: statement)
                return PQsendQueryParams(
                    handle, statement.sql, Int32(pointers.count), types, pointers, lengths, formats, 1) == 1
            }
            return PQsendQueryPrepared(handle, prepared.name, Int32(pointers.count), pointers, lengths, formats, 1) == 1
        }
    }

    // MARK: Scripts

    /// Leaves pipeline mode to run several statements as one script. Needs an idle connection.
    private func start(_ script: String) {
        scriptPhase = .running
        guard PQexitPipelineMode(handle) == 1 else { return failWithLibpqMessage() }
        let path = !parameters.isPathTransient && SearchPath.goesFirst(script) ? nil : pathStatement
        sendPlainly(path.map { "\($0.sql); \(script)" } ?? script)
    }

    private func sendPlainly(_ sql: String) {
        needsFlush = true
        if PQsendQuery(handle, sql) != 1 { failWithLibpqMessage() }
    }

    /// Continues after all results of a script, or of its cleanup, have arrived.
    func proceedWithScript(_ phase: ScriptPhase) {
        switch phase {
        case .running where isInTransaction:
            scriptPhase = .rollingBack
            sendPlainly("ROLLBACK")
        case .running, .rollingBack:
            // Later requests must not see what the script changed in the session.
            scriptPhase = .resetting
            sendPlainly("DISCARD ALL")
        case .resetting:
            scriptPhase = nil
            cache.removeAll()
            guard PQenterPipelineMode(handle) == 1 else { return failWithLibpqMessage() }
            if let settings { begin(own: settings) }
            finishHead()
        }
    }
}
