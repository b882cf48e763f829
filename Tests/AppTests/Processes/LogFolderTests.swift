import Foundation
import JSON
import TestSupport
import Testing

@Suite("The folder of logs")
struct LogFolderTests {
    @Test("A full disk stops the lines of the files alone: they are counted, and come again when there is room")
    func full() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-logs-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // What is written to that device finds no space. The day may end meanwhile.
        let days = [0.0, 86_400].map { ISO8601DateFormatter().string(from: Date() + $0).prefix(10) }
        let files = days.map { "\(folder)/parse-server.info.\($0)" }
        for file in files { try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/full") }
        let metrics = try await FreePort.find()
        let options: JSONObject = [
            "logLevel": "info", "logsFolder": .string(folder), "metrics": ["port": .number(Double(metrics))],
        ]
        try await ServerProcesses.run(1, options) { processes in
            for _ in 0..<20 { #expect(try await processes[0].send("GET", "/classes/Song").status == 200) }
            let isCounted = try await eventually {
                try await TestServer.metrics(at: metrics)["roost_log_dropped_lines_total"] ?? 0 >= 20
            }
            #expect(isCounted)
            let areWritten = try await eventually {
                processes.log.split(separator: "\n").count { $0.contains("path=/parse/classes/Song ") } == 20
            }
            #expect(areWritten)
            for file in files { try FileManager.default.removeItem(atPath: file) }
            let comeAgain = try await eventually(within: .seconds(60)) {
                _ = try await processes[0].send("GET", "/classes/Song")
                return files.contains {
                    (try? String(contentsOfFile: $0, encoding: .utf8))?.contains("classes/Song") == true
                }
            }
            #expect(comeAgain)
            // The first is whole.
            for file in files {
                let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
                for line in text.split(separator: "\n") { _ = try JSONValue(parsing: Array(line.utf8)) }
            }
        }
    }

    @Test("Lines of many requests at once are in the order of their times, so that no pager misses one")
    func order() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-logs-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await ServerProcesses.run(1, ["logLevel": "info", "logsFolder": .string(folder)]) { processes in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<32 {
                    group.addTask {
                        for _ in 0..<60 { _ = try await processes[0].send("GET", "/nowhere", as: .nobody) }
                    }
                }
                try await group.waitForAll()
            }
            var times: [String] = []
            let areThere = try await eventually {
                let names = (try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()) ?? []
                let texts = names.filter { $0.contains(".info.") }.map {
                    (try? String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)) ?? ""
                }
                times = texts.joined().split(separator: "\n").compactMap { line in
                    line.contains("/nowhere")
                        ? (try? JSONValue(parsing: Array(line.utf8)))?["timestamp"]?.stringValue : nil
                }
                return times.count == 32 * 60
            }
            #expect(areThere, "\(times.count)")
            #expect(times == times.sorted())
        }
    }

    @Test("/scriptlog reads the files, also those of a process before, and finds the lines of one request")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-logs-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let options: JSONObject = [
            "logLevel": "info", "logsFolder": .string(folder), "masterKeyIps": ["127.0.0.1"],
        ]
        try await ServerProcesses.run(1, options) { processes in
            let answer = try await processes[0].send(
                "GET", "/classes/Song?limit=1", headers: ["X-Parse-Client-Version": "js9.8.7"])
            #expect(answer.status == 200)
        }
        try await ServerProcesses.run(1, options) { processes in
            let server = processes[0]
            _ = try await server.send("GET", "/classes/Song", as: .master)
            let isThere = try await eventually {
                let answer = try await server.send("GET", "/scriptlog?n=100", as: .master)
                return answer.json.arrayValue?.contains { $0["power"] == "master" } ?? false
            }
            #expect(isThere)
            for from in ["-9223372036854775808", "9e18", "1e300"] {
                #expect(try await server.send("GET", "/scriptlog?from=\(from)", as: .master).status == 200)
            }
            let before = try await server.send("GET", "/scriptlog?text=js9.8.7", as: .master)
            #expect(before.json.arrayValue?.count == 1)
            let id = try #require(before.json.arrayValue?.first?["id"]?.stringValue)
            let found = try await server.send("GET", "/scriptlog?requestId=\(id)", as: .master)
            #expect(found.json.arrayValue?.count == 1)
            #expect(found.json.arrayValue?.first?["url"] == "/parse/classes/Song")
            #expect(found.json.arrayValue?.first?["status"] == 200)
        }
    }
}
