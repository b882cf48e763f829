internal import Doctor
import HTTP
import JSON
internal import Operations
internal import ParseModel
import Platform
internal import Telemetry

/// The performance page: metrics over time, and slow statements.
extension ConsoleRouteTable {
    static let performance: [ConsoleRoute] = [
        ConsoleRoute(.get, "metrics", .viewer) { try FigureCalls(call: $0).metrics() },
        ConsoleRoute(.get, "statements", .developer) { try await FigureCalls(call: $0).statements() },
        ConsoleRoute(.get, "statements/:id", .developer) { call in
            .object(try await SlowStatements(backend: call.interface.backend).plan(of: call.arguments[0]))
        },
    ]
}

private struct FigureCalls: ConsoleCalls {
    let call: ConsoleCall

    /// Returns a numeric query parameter, `usual` if it is missing, or 0 if it is invalid.
    private func number(_ name: Name, _ usual: Double) -> Double {
        query[name].map { $0.numberValue ?? 0 } ?? usual
    }

    func metrics() throws -> Reply {
        let step = number("step", 10)
        guard step == 10 || step == 60 else {
            throw HTTPError(status: 400, message: "step must be 10 or 60 (seconds).")
        }
        let seconds = number("for", 3600)
        guard seconds > 0, seconds <= 86_400 else {
            throw HTTPError(status: 400, message: "\"for\" must be more than 0 and at most 86400 (seconds).")
        }
        let figures = interface.figures
        let points = figures.points(byMinute: step == 60, within: seconds)
        let rows = figures.rows(within: seconds)
        var series: JSONObject = [:]
        for key in FigureHistory.Series.allCases {
            series[Name("\(key)")] = .array(points.map { $0[key].map { .number(Self.rounded($0)) } ?? .null })
        }
        return .object([
            "process": .number(Double(ProcessInfo.processInfo.processIdentifier)), "step": .number(step),
            "at": .array(points.map { .number(($0.at * 1000).rounded()) }),
            "countsRequests": .bool(figures.countsRequests), "series": .object(series),
            "since": .string(ParseDate(milliseconds: Int64(rows.since * 1000)).iso),
            "routes": .array(rows.routes.map(Self.json)), "calls": .array(rows.calls.map(Self.json)),
        ])
    }

    private static func json(_ row: FigureHistory.Row) -> JSONValue {
        var object: JSONObject = [
            "count": .number(Double(row.count)), "clientErrors": .number(Double(row.clientErrors)),
            "serverErrors": .number(Double(row.serverErrors)), "mean": .number(rounded(row.mean)),
            "p50": .number(rounded(row.p50)), "p99": .number(rounded(row.p99)),
        ]
        object["route"] = row.name.map { .string($0) }
        if !row.method.isEmpty { object["method"] = .string(row.method) }
        return .object(object)
    }

    private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    func statements() async throws -> Reply {
        let backend = interface.backend
        // Reads the whole catalog, so only one console may do it at a time.
        return .object(try await interface.planning.run { try await SlowStatements(backend: backend).answer() })
    }
}
