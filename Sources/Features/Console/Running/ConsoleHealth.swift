internal import Doctor
import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ServerConfiguration
import Synchronization

/// The health page: readiness, email queue, the doctor's findings and fixes, and the check of push keys.
extension ConsoleRouteTable {
    static let health: [ConsoleRoute] = [
        ConsoleRoute(.get, "health", .developer) { await HealthCalls(call: $0).health() },
        ConsoleRoute(.post, "doctor", .developer, .nothing) { try await HealthCalls(call: $0).examine() },
        ConsoleRoute(.post, "doctor/fix", .owner, isConfirmed: true) { try await HealthCalls(call: $0).putRight() },
        ConsoleRoute(.post, "push/check", .developer, .nothing) { try await HealthCalls(call: $0).checkPush() },
    ]
}

/// The latest doctor report of this process.
final class LastReport: Sendable {
    struct Found: Sendable {
        let at: ParseDate
        let report: Doctor.Report
    }

    /// The latest report, or nil before the first check.
    let found = Mutex<Found?>(nil)
}

private struct HealthCalls: ConsoleCalls {
    let call: ConsoleCall

    private var backend: Backend { interface.backend }

    func health() async -> Reply {
        let mails = backend.meters.mails
        let errors = backend.log.lines(from: 0, onlyErrors: true)
        let prefix = backend.configuration.console.path + "/"
        var answer: JSONObject = [
            "version": .string(interface.version), "preset": .number(Double(backend.configuration.preset)),
            "securityCheck": .bool(backend.configuration.security.enableCheck),
            "mails": [
                "waiting": .number(Double(mails.waiting.value)), "oldest": .number(Double(mails.oldest.value)),
                "failed": .number(Double(mails.results[.failed])),
            ],
            "errors": .number(Double(errors.count { !LogFilter.isConsole($0.json, prefix) })),
        ]
        let readiness = await interface.readiness()
        for name: Name in ["checks", "disks"] { answer[name] = readiness[name] }
        answer["doctor"] = interface.lastReport.found.withLock { $0 }.map(Self.json)
        return .object(answer)
    }

    private static func json(_ found: LastReport.Found) -> JSONValue {
        [
            "at": .string(found.at.iso), "postgres": .number(Double(found.report.version)),
            "bytes": .number(Double(found.report.size)),
            "findings": .array(
                found.report.findings.map { finding in
                    var object: JSONObject = [
                        "id": .string(finding.id), "kind": .string(finding.kind.rawValue),
                        "severity": .string(finding.severity.rawValue), "subject": .string(finding.subject),
                        "words": .string(finding.words),
                    ]
                    if !finding.examples.isEmpty { object["examples"] = .array(finding.examples.map { .string($0) }) }
                    object["advice"] = finding.advice.map { .string($0) }
                    object["fix"] = finding.remedy.map { remedy in
                        [
                            "words": .string(remedy.words),
                            "statements": .array(remedy.statements.map { .string($0) }),
                        ]
                    }
                    return .object(object)
                }),
        ]
    }

    /// Starts a database check as a task.
    func examine() async throws -> Reply {
        try await checkNoMembers()
        let item = item("doctor", "Checking the database.")
        return try await begin(item, done: "The database was checked.", busy: Self.busy) { [interface] in
            try await interface.examine()
        }
    }

    /// Starts a task that fixes one finding and checks the database again.
    func putRight() async throws -> Reply {
        let id = try await body()["id"]?.stringValue
        guard let found = interface.lastReport.found.withLock({ $0 }),
            let finding = found.report.findings.first(where: { $0.remedy != nil && $0.id == id }),
            let remedy = finding.remedy
        else { throw ParseError(ParseError.objectNotFound, "The finding doesn't exist or is resolved.") }
        guard backend.clock.now.milliseconds - found.at.milliseconds < 3_600_000 else {
            throw HTTPError(status: 409, message: "The finding is out of date. Run the checks again first.")
        }
        var entry = interface.entry(visit, session, "doctor/fix")
        entry.fields = [finding.kind.rawValue, finding.subject]
        return try await begin(item("fix", remedy.words), entry, done: "Done.", busy: Self.busy) { [interface] in
            try await Doctor(client: interface.backend.store.client).apply(remedy)
            return try await interface.examine()
        }
    }

    private func checkNoMembers() async throws {
        guard let name = try await body().keys.min() else { return }
        throw HTTPError(status: 400, message: "The body must be empty: \(name) is not supported.")
    }

    private static let busy = "A check is already running."

    private func item(_ kind: String, _ words: String) -> ConsoleTasks.Item {
        .init(kind: kind, startedAt: backend.clock.now, message: words)
    }

    /// Checks the push keys and whether the push services respond. Sends no notifications.
    func checkPush() async throws -> Reply {
        try await checkNoMembers()
        guard let check = interface.pushCheck else {
            throw HTTPError(status: 409, message: "The option push is not set.")
        }
        return .object(["findings": try await interface.checking.run { try await check() }])
    }
}

extension ConsoleInterface {
    fileprivate func examine() async throws -> JSONValue {
        let report = try await Doctor(client: backend.store.client).examine()
        lastReport.found.withLock { $0 = .init(at: backend.clock.now, report: report) }
        return [:]
    }
}
