import CLibpq
import Collections

/// One connection in pipeline mode. Only the I/O thread touches it.
final class Connection {
    enum Role { case shared, exclusive, listener }

    enum State {
        /// Being made; poll for what libpq waits for.
        case connecting(PostgresPollingStatusType)
        /// Taking statements.
        case ready
        /// Broken; not to be made anew before then.
        case waiting(until: ContinuousClock.Instant)
    }

    /// A prepared statement, by its text and the types of its parameters.
    private struct Key: Hashable {
        let sql: String
        let types: [UInt32]
    }

    private struct Prepared {
        let name: String
        var lastUse: UInt64
    }

    let role: Role
    private let configuration: PostgresConfiguration
    private(set) var state: State
    private var handle: OpaquePointer?
    private var prepared: [Key: Prepared] = [:]
    private var useCounter: UInt64 = 0
    private var nameCounter: UInt64 = 0
    private var backOff: Duration = .milliseconds(50)
    /// What was sent and not answered yet, in order.
    private(set) var inFlight: Deque<Work> = []
    /// Whether there are bytes that the socket did not take yet.
    private(set) var wantsToWrite = false
    /// Whether an exclusive connection is somebody's at the moment.
    var isLeased = false
    /// Since when an exclusive connection is nobody's.
    var idleSince: ContinuousClock.Instant = .now
    /// What was announced to a listening connection.
    var notifications: [(channel: String, payload: String)] = []
    /// Why the last connection failed.
    private(set) var lastError = ""
    private(set) var reconnects = 0
    // Arrays that libpq reads from, kept for the next statement.
    private var pointers: [UnsafePointer<CChar>?] = []
    private var formats: [Int32] = []

    init(_ role: Role, _ configuration: PostgresConfiguration) {
        self.role = role
        self.configuration = configuration
        state = .waiting(until: .now)
    }

    deinit { PQfinish(handle) }

    var isReady: Bool { if case .ready = state { true } else { false } }
    var socket: Int32 { PQsocket(handle) }
    var preparedCount: Int { prepared.count }

    /// Whether a transaction is open, or was broken off by an error.
    var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// What stops the statement that is running, for a thread of its own.
    var canceller: OpaquePointer? { PQgetCancel(handle) }

    // MARK: Connecting

    /// Begins to connect.
    func connect() {
        PQfinish(handle)
        prepared.removeAll()
        wantsToWrite = false
        let keywords = ["dbname", "fallback_application_name", "client_encoding"]
        let values = [configuration.connectionString, configuration.applicationName, "UTF8"]
        handle = Self.withCStrings(keywords) { keywords -> OpaquePointer? in
            Self.withCStrings(values) { values -> OpaquePointer? in PQconnectStartParams(keywords, values, 1) }
        }
        guard handle != nil, PQstatus(handle) != CONNECTION_BAD else {
            fail(.now)
            return
        }
        // Notices go nowhere: what matters comes as an error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        state = .connecting(PGRES_POLLING_WRITING)
    }

    /// Goes on with connecting after the socket became ready; true when the connection stands.
    func proceed() -> Bool {
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_OK:
            guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
                fail(.now)
                return false
            }
            state = .ready
            backOff = .milliseconds(50)
            return true
        case PGRES_POLLING_FAILED:
            fail(.now)
            return false
        case let status:
            state = .connecting(status)
            return false
        }
    }

    /// Gives the connection up and gives back what was under way on it; it is made anew after a pause that grows.
    @discardableResult
    func fail(_ now: ContinuousClock.Instant) -> [Work] {
        lastError = PQerrorMessage(handle).map { String(cString: $0) } ?? "out of memory"
        PQfinish(handle)
        handle = nil
        let lost = Array(inFlight)
        inFlight.removeAll()
        wantsToWrite = false
        prepared.removeAll()
        state = .waiting(until: now + backOff)
        backOff = min(backOff * 2, .seconds(2))
        reconnects += 1
        return lost
    }

    // MARK: Sending

    /// Sends a request, the preparation of its statements included where they are new; false when the connection broke.
    func send(_ work: Work) -> Bool {
        work.restart()
        work.attempts += 1
        makeRoom(for: work)
        for statement in work.statements {
            let (name, isNew) = prepare(statement)
            if isNew {
                let sent = statement.types.withUnsafeBufferPointer { types in
                    PQsendPrepare(handle, name, statement.sql, Int32(types.count), types.baseAddress)
                }
                guard sent == 1 else { return false }
            }
            work.prepares.append(isNew)
            guard execute(statement, name) else { return false }
        }
        guard PQpipelineSync(handle) == 1 else { return false }
        inFlight.append(work)
        // The request is under way now: a connection that takes no bytes is found broken when it is read.
        _ = flush()
        return true
    }

    /// Writes what the socket takes; false when the connection broke.
    func flush() -> Bool {
        switch PQflush(handle) {
        case 0: wantsToWrite = false
        case 1: wantsToWrite = true
        default: return false
        }
        return true
    }

    private func execute(_ statement: EncodedStatement, _ name: String) -> Bool {
        let count = statement.types.count
        return statement.bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                pointers.removeAll(keepingCapacity: true)
                while formats.count < count { formats.append(1) }
                for offset in statement.offsets {
                    pointers.append(offset < 0 ? nil : characters.baseAddress.map { $0 + offset })
                }
                return PQsendQueryPrepared(
                    handle, name, Int32(count), pointers, statement.lengths, formats, 1) == 1
            }
        }
    }

    private func prepare(_ statement: EncodedStatement) -> (name: String, isNew: Bool) {
        let key = Key(sql: statement.sql, types: statement.types)
        useCounter += 1
        if let known = prepared[key] {
            prepared[key]?.lastUse = useCounter
            return (known.name, false)
        }
        nameCounter += 1
        let name = "s\(nameCounter)"
        prepared[key] = Prepared(name: name, lastUse: useCounter)
        return (name, true)
    }

    /// Forgets the older half of the prepared statements, on both sides, when a request's new ones do not fit.
    ///
    /// This comes before anything of the request is sent: forgetting is a request of its own, and its end in the midst
    /// of a group would commit the first part of the group by itself.
    private func makeRoom(for work: Work) {
        let limit = configuration.preparedStatementLimit
        guard prepared.count + work.statements.count > limit else { return }
        let wanted = Set(work.statements.map { Key(sql: $0.sql, types: $0.types) })
        let surplus = prepared.count + wanted.count { prepared[$0] == nil } - limit
        guard surplus > 0 else { return }
        let oldest = prepared.filter { !wanted.contains($0.key) }.sorted { $0.value.lastUse < $1.value.lastUse }
        for (key, value) in oldest.prefix(max(surplus, prepared.count / 2)) {
            prepared[key] = nil
            deallocate(value.name)
        }
    }

    /// Forgets a request's prepared statements: their plans no longer fit the tables, or they were never made.
    func forget(_ work: Work) {
        for statement in work.statements {
            if let known = prepared.removeValue(forKey: Key(sql: statement.sql, types: statement.types)) {
                deallocate(known.name)
            }
        }
    }

    /// Asks the server to forget a prepared statement, without waiting for it.
    private func deallocate(_ name: String) {
        let work = Work([], isReadOnly: false, isAutocommit: true, deadline: .now) { _ in }
        guard PQsendQueryParams(handle, "DEALLOCATE \"\(name)\"", 0, nil, nil, nil, nil, 1) == 1,
            PQpipelineSync(handle) == 1
        else { return }
        inFlight.append(work)
    }

    // MARK: Receiving

    /// Reads what came and gives back the requests that are answered; nil when the connection broke.
    func receive() -> [Work]? {
        guard PQconsumeInput(handle) == 1 else { return nil }
        var finished: [Work] = []
        var boundaries = 0
        // Two ends of results in a row mean that nothing more is there.
        while boundaries < 2, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                boundaries += 1
                continue
            }
            boundaries = 0
            take(result, &finished)
        }
        while let notification = PQnotifies(handle) {
            notifications.append(
                (String(cString: notification.pointee.relname), String(cString: notification.pointee.extra)))
            PQfreemem(notification)
        }
        return PQstatus(handle) == CONNECTION_BAD ? nil : finished
    }

    private func take(_ result: OpaquePointer, _ finished: inout [Work]) {
        let status = PQresultStatus(result)
        guard let work = inFlight.first else { return PQclear(result) }
        switch status {
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            inFlight.removeFirst()
            if work.error != nil { forgetUnprepared(work) }
            finished.append(work)
        case PGRES_PIPELINE_ABORTED:
            work.received += 1
            PQclear(result)
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
            let isPreparation = isPreparation(work)
            work.received += 1
            if isPreparation || work.statements.isEmpty {
                if isPreparation { work.confirmed += 1 }
                PQclear(result)
            } else {
                work.results.append(PostgresResult(result))
            }
        default:
            work.received += 1
            if work.error == nil { work.error = Self.error(result) }
            PQclear(result)
        }
    }

    /// Whether the result that comes now is that of a preparation.
    private func isPreparation(_ work: Work) -> Bool {
        var position = 0
        for isPrepared in work.prepares {
            if isPrepared {
                if position == work.received { return true }
                position += 1
            }
            if position == work.received { return false }
            position += 1
        }
        return false
    }

    /// After an error, preparations that the server did not confirm did not happen.
    private func forgetUnprepared(_ work: Work) {
        let new = zip(work.statements, work.prepares).filter(\.1).map(\.0)
        for statement in new.dropFirst(work.confirmed) {
            prepared[Key(sql: statement.sql, types: statement.types)] = nil
        }
    }

    private static func error(_ result: OpaquePointer) -> PostgresError {
        func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }
        var error = PostgresError(
            .server, field(Int32(UInt8(ascii: "M"))) ?? "", sqlState: field(Int32(UInt8(ascii: "C"))) ?? "")
        error.detail = field(Int32(UInt8(ascii: "D")))
        error.constraint = field(Int32(UInt8(ascii: "n")))
        error.table = field(Int32(UInt8(ascii: "t")))
        error.column = field(Int32(UInt8(ascii: "c")))
        return error
    }

    private static func withCStrings<R>(
        _ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> R
    ) -> R {
        let copies = strings.map { Array($0.utf8CString) }
        func next(_ index: Int, _ pointers: [UnsafePointer<CChar>?]) -> R {
            guard index < copies.count else { return body(pointers + [nil]) }
            return copies[index].withUnsafeBufferPointer { next(index + 1, pointers + [$0.baseAddress]) }
        }
        return next(0, [])
    }
}
