import Foundation
import JSON

/// Sends a share of the malformed requests and checks the responses, on a separate thread.
struct MalformedWorker {
    let port: Int
    let seed: UInt64
    let count: Int
    let sessionToken: String

    /// The failures, each with its request.
    struct Report: Sendable {
        var failures: [String] = []
        var statuses: [Int: Int] = [:]
    }

    /// Runs on a separate thread, because the server in this process needs the concurrency threads.
    func run() async -> Report {
        await onThread { send() }
    }

    /// Sends invalid or incomplete HTTP. The server may respond with an error or close the connection.
    func runBroken() async -> Report {
        await onThread { sendBroken() }
    }

    private func onThread(_ body: @escaping @Sendable () -> Report) async -> Report {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    private func send() -> Report {
        var report = Report()
        var generator = MalformedGenerator(seed: seed, sessionToken: sessionToken)
        let socket = MalformedSocket(port: port)
        for index in 0..<count {
            let request = generator.next()
            var problem: String?
            do {
                let answer = try socket.exchange(request.bytes, isHead: request.method == "HEAD")
                report.statuses[answer.status, default: 0] += 1
                problem = Self.problem(with: answer, to: request)
            } catch {
                socket.disconnect()
                problem = "no answer (\(error))"
            }
            guard var problem else { continue }
            if !isServing(socket) { problem += ", and a good request does not work after it" }
            report.failures.append(
                "seed \(seed), request \(index): \(problem)\n\(request.description)\n")
        }
        return report
    }

    /// Returns what is wrong with a response, or nil if it is valid.
    private static func problem(with answer: MalformedSocket.Answer, to request: MalformedRequest) -> String? {
        let text = "\(answer.status) \(String(decoding: answer.body.prefix(2000), as: UTF8.self))"
        let json = try? JSONValue(parsing: answer.body)
        if answer.status >= 500 {
            return text
        }
        // A batch succeeds even if one of its calls fails with a server error.
        if request.target.hasSuffix("/batch"), text.localizedCaseInsensitiveContains("internal server error") {
            return text
        }
        guard answer.status >= 400, request.method != "HEAD", !request.isFile else { return nil }
        if request.isRefusedByParser, answer.body.isEmpty, answer.headers["connection"] == "close" { return nil }
        return json?["error"]?.stringValue == nil ? "an error without JSON: \(text)" : nil
    }

    private func isServing(_ socket: MalformedSocket) -> Bool {
        let good = MalformedRequest(
            method: "GET", target: "/parse/classes/Treasure?limit=1",
            headers: [
                ("X-Parse-Application-Id", Array("testApp".utf8)), ("X-Parse-REST-API-Key", Array("testRest".utf8)),
            ], body: [])
        return (try? socket.exchange(good.bytes, isHead: false))?.status == 200
    }

    private func sendBroken() -> Report {
        var report = Report()
        var values = MalformedValues(seed: seed)
        let socket = MalformedSocket(port: port)
        for index in 0..<count {
            let (bytes, isHalf) = Self.brokenRequest(&values)
            do {
                try socket.send(bytes)
                if isHalf, values.chance(50) {
                    socket.disconnect()
                } else {
                    socket.finishSending()
                    let answer = try socket.receive(isHead: false)
                    report.statuses[answer.status, default: 0] += 1
                    if answer.status >= 500 {
                        report.failures.append(
                            "seed \(seed), broken request \(index): \(answer.status)\n\(String(decoding: bytes, as: UTF8.self))"
                        )
                    }
                }
            } catch MalformedSocket.Failure.connectionEnded {
                // Closing the connection is allowed.
            } catch {
                report.failures.append(
                    "seed \(seed), broken request \(index): \(error)\n\(String(decoding: bytes, as: UTF8.self))")
            }
            socket.disconnect()
            if !isServing(socket) {
                report.failures.append("seed \(seed), broken request \(index): the server is gone after it")
            }
            socket.disconnect()
        }
        return report
    }

    private static func brokenRequest(_ values: inout MalformedValues) -> (bytes: [UInt8], isHalf: Bool) {
        let fields = "Host: x\r\nX-Parse-Application-Id: testApp\r\nX-Parse-REST-API-Key: testRest\r\n"
        let start = "POST /parse/classes/Thing HTTP/1.1\r\n\(fields)"
        if values.chance(40) {
            let body = values.object([("text", values.string()), ("list", values.deep())])
            let framing = values.chance(70) ? "Content-Length: \(body.count + 10)" : "Transfer-Encoding: chunked"
            return (Array("\(start)\(framing)\r\n\r\n".utf8) + body.prefix(body.count / 2), true)
        }
        let lines = [
            "GET\r\n\r\n", "\r\n\r\n\r\n", "GET /parse/health\r\n\r\n", "GET  /parse/health  HTTP/1.1\r\n\r\n",
            "GET /parse/health HTTP/9.9\r\n\r\n", "GET /parse/he alth HTTP/1.1\r\n\r\n",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}",
            "GET /parse/health HTTP/1.1\r\nHost: x\r\nBad Name: x\r\n\r\n",
            "GET /parse/health HTTP/1.1\r\nHost: x\r\nName : x\r\n\r\n", "GET /parse/health HTTP/1.1\r\n: x\r\n\r\n",
            "GET /parse/health HTTP/1.1\r\nNoColon\r\n\r\n", "GET /parse/health HTTP/1.1\r\nA: x\u{0}y\r\n\r\n",
            "\(start)Content-Length: -1\r\n\r\n{}", "\(start)Content-Length: 99999999999999999999\r\n\r\n{}",
            "\(start)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            "\(start)Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
            "\(start)Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n{}\r\n",
            "\(start)Transfer-Encoding: odd\r\n\r\n{}",
            "\(start)Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET /parse/\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\n\r\n",
            "GET /parse/health HTTP/1.1\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n",
            "GET /parse/health HTTP/1.1\r\n\(String(repeating: "X: y\r\n", count: 20_000))\r\n",
            "GET /parse/caf\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT elsewhere:443 HTTP/1.1\r\n\r\n",
            "GET /parse/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            "POST /parse/classes/Thing HTTP/1.1\r\nExpect: nonsense\r\nContent-Length: 2\r\n\r\n{}",
        ]
        return (Array(values.pick(lines).utf8) + (values.chance(10) ? values.text() : []), false)
    }
}
