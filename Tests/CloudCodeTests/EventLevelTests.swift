import CloudCode
import JSON
import Logging
import Operations
import ParseModel
import ServerConfiguration
import TestSupport
import Testing

/// The option `logLevels`.
@Suite("Log levels of cloud-code events")
struct EventLevelTests {
    typealias Level = Configuration.EventLevels.Level

    /// swift-log's name of a level, or nil for no line.
    private static func name(_ level: Level) -> String? {
        switch level {
        case .silent: nil
        case .error: "error"
        case .warn: "warning"
        case .info: "info"
        case .verbose, .debug: "debug"
        case .silly: "trace"
        }
    }

    private static func lines(
        _ levels: Configuration.EventLevels, _ target: CloudTarget, fails: Bool
    ) async throws -> [String] {
        let lines = LogLines()
        let engine = CloudEngine(levels: levels, logger: lines.logger)
        let host = PlainHost([CloudRegistration(target)]) { _ in
            if fails { throw CloudFailure("no such song") }
            return CloudResult()
        }
        engine.attach(host)
        try await engine.start()
        var call = CloudCall(target)
        call.requestID = "r1"
        call.params = ["song": "Secret Title"]
        call.object = ["className": "Song", "title": "Secret Title"]
        call.caller.user = ["objectId": "u1", "sessionToken": "r:0123456789abcdef0123456789abcdef"]
        _ = try? await engine.call(call)
        await engine.shutdown()
        return lines.all.filter { $0.contains("cloud function") || $0.contains("trigger") }
    }

    private static let events:
        [(any WritableKeyPath<Configuration.EventLevels, Level> & Sendable, CloudTarget, Bool, String)] = [
            (\.triggerAfter, .trigger(.afterSave, "Song"), false, "trigger class=Song"),
            (\.triggerAfter, .trigger(.afterFind, "Song"), false, "trigger class=Song"),
            (\.triggerBeforeSuccess, .trigger(.beforeSave, "Song"), false, "trigger class=Song"),
            (\.triggerBeforeError, .trigger(.beforeSave, "Song"), true, "trigger failed class=Song code=141"),
            (\.cloudFunctionSuccess, .function("hello"), false, "cloud function function=hello"),
            (\.cloudFunctionError, .function("hello"), true, "cloud function failed code=141"),
        ]

    @Test("Logs each event at its level without private data, and nothing if silent", arguments: Level.allCases)
    func levels(level: Level) async throws {
        for (path, target, fails, text) in Self.events {
            var levels = Configuration.EventLevels()
            levels[keyPath: path] = level
            let lines = try await Self.lines(levels, target, fails: fails)
            #expect(lines.count == (level == .silent ? 0 : 1), "\(lines)")
            guard let line = lines.first else { continue }
            #expect(line.hasPrefix("\(Self.name(level) ?? "") \(text)"), "\(line)")
            #expect(line.contains("id=r1") && line.contains("user=u1") && line.contains("ms="))
            #expect(!line.contains("Secret Title") && !line.contains("r:0123456789"))
            #expect(line.contains("no such song") == fails)
        }
    }

    @Test("By default, logs successes as info and failures as errors, but no failed afterSave triggers")
    func defaults() async throws {
        for (_, target, fails, _) in Self.events {
            let lines = try await Self.lines(Configuration.EventLevels(), target, fails: fails)
            #expect(lines.map { $0.hasPrefix(fails ? "error " : "info ") } == [true], "\(lines)")
        }
        let after = try await Self.lines(Configuration.EventLevels(), .trigger(.afterSave, "Song"), fails: true)
        #expect(after.isEmpty, "\(after)")
    }
}
