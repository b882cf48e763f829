import HTTP
import JSON
internal import Operations
internal import ParseModel
import Rules

/// Imports rows in chunks of up to 2,000. The page reads the file, so it can pause and stop the import.
extension ConsoleRouteTable {
    static let imports: [ConsoleRoute] = [
        ConsoleRoute(.post, "imports", .editor) { try await ImportCalls(call: $0).importRows() }
    ]
}

private struct ImportCalls: ConsoleCalls {
    let call: ConsoleCall

    private static let (maxRows, largestRows) = (2_000, 20 * 1024 * 1024)

    func importRows() async throws -> Reply {
        let place = try await interface.place(in: interface.importing, of: visit.sender, "Other imports")
        defer { place.release() }
        return try await interface.dispatcher.carryOut(visit.request, upTo: Self.largestRows, store)
    }

    private func store(_ body: JSONObject) async throws -> Reply {
        guard let className = body["className"]?.stringValue, let rows = body["rows"]?.arrayValue,
            let existing = (body["existing"]?.stringValue).flatMap(CheckedImport.Existing.init(rawValue:))
        else {
            throw HTTPError(
                status: 400, message: "className, rows and existing (skip, replace or stop) are required.")
        }
        guard rows.count <= Self.maxRows else {
            throw HTTPError(status: 400, message: "A request can import at most \(Self.maxRows) rows.")
        }
        let backend = interface.backend
        func judge(_ fields: [Name]) throws {
            let path = ["classes", className]
            try interface.check(.init(path: path, method: "POST", onlyReads: false, fields: fields), for: role)
        }
        try judge([])
        let isDryRun = body["dryRun"] == true
        let (context, isDeveloper) = (context, role >= .developer)
        func report() async throws -> JSONObject {
            let report = try await backend.checkedImport.run(
                rows, of: className, existing: existing,
                newFields: isDeveloper ? body["fields"]?.objectValue ?? [:] : [:], isDryRun: isDryRun,
                takesHidden: isDeveloper, context
            ) { row in try judge(Array(row.keys)) }
            return answer(report)
        }
        if isDryRun { return .object(try await report()) }
        return try await call.audited(
            "imports", className: className, ids: rows.prefix(100).compactMap { $0["objectId"]?.stringValue },
            count: rows.count, fields: (rows.first?.objectValue ?? [:]).keys.texts
        ) { .object(try await report()) }
    }

    private func answer(_ report: CheckedImport.Report) -> JSONObject {
        var answer: JSONObject = [
            "stored": .number(Double(report.stored)), "skipped": .number(Double(report.skipped)),
            "refused": .array(
                report.refused.map { place, error in
                    var refusal: JSONObject = ["row": .number(Double(place))]
                    let reply = interface.dispatcher.reply(to: error, visit.request)
                    if case .json(let bytes) = reply.body, let value = try? JSONValue(parsing: bytes) {
                        refusal["error"] = value["error"]
                        refusal["code"] = value["code"]
                    }
                    return .object(refusal)
                }),
        ]
        if let place = report.stoppedAt { answer["stoppedAt"] = .number(Double(place)) }
        return answer
    }
}
