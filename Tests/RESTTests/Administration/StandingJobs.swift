import App
import JSON
import Operations
import ParseModel
import Synchronization
import TestSupport

/// Test jobs that record their calls.
final class StandingJobs: JobSet {
    let calls = Mutex<[JobCall]>([])
    /// Lets the job `waiting` finish.
    let isOpen = Atomic(false)

    private static let offered: [Name] = [
        "echo", "fail", "long", "refuse", "talk", "waiting", "alone", "stubborn", "a.b",
    ]

    var jobNames: [Name] { Self.offered }

    func job(named name: Name) -> Job? {
        guard Self.offered.contains(name) else { return nil }
        return Job(isExclusive: name == "alone") { [self] call in
            calls.withLock { $0.append(call) }
            switch name {
            case "fail": throw Broken()
            case "refuse": throw ParseError(ParseError.objectNotFound, "Nothing to count.")
            case "talk":
                for number in 1...1000 { call.message("line \(number)") }
                return ""
            case "long": return "\u{0}" + String(repeating: "é", count: 20_000)
            case "waiting", "alone":
                call.message("waits")
                while !isOpen.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
                return "done"
            case "stubborn":
                await Task.detached { try? await Task.sleep(for: .seconds(6)) }.value
                return "too late"
            default: return JSONValue.object(call.parameters).text
            }
        }
    }

    struct Broken: Error, CustomStringConvertible {
        var description: String { "it broke" }
    }

    func extensions(_ clock: WallClock = .system, pause: Duration = .seconds(5)) -> ServerExtensions {
        var extensions = ServerExtensions()
        extensions.backend.jobs = self
        extensions.backend.clock = clock
        extensions.backend.schedulePause = pause
        return extensions
    }
}

extension TestServer {
    func startJob(_ name: String, _ parameters: JSONObject = [:]) async throws -> String {
        let answer = try await send("POST", "/jobs/\(name)", .object(parameters), as: .master)
        guard answer.status == 200, let id = answer.headers["x-parse-job-status-id"] else {
            throw UnexpectedAnswer(answer: answer)
        }
        return id
    }

    func jobStatus(_ id: String) async throws -> JSONObject {
        try await send("GET", "/classes/_JobStatus/\(id)", as: .master).json.objectValue ?? [:]
    }

    /// Waits until a run has a status and returns its row, or nil on a time-out.
    func jobStatus(_ id: String, when status: JSONValue) async throws -> JSONObject? {
        let hasCome = try await eventually { try await jobStatus(id)["status"] == status }
        return hasCome ? try await jobStatus(id) : nil
    }
}
