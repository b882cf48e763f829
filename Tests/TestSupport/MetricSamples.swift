import JSON

/// Metric samples by name and labels, such as `roost_logins_total{method="password",result="ok"}`.
public struct MetricSamples: Sendable {
    public let text: String
    private let values: [String: Double]

    public init(_ text: String) {
        self.text = text
        var values: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " ") else { continue }
            values[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
        self.values = values
    }

    public subscript(name: String) -> Double? { values[name] }

    public func names(beginningWith prefix: String) -> [String] { values.keys.filter { $0.hasPrefix(prefix) }.sorted() }

    public func sum(_ prefix: String) -> Double { names(beginningWith: prefix).reduce(0) { $0 + (values[$1] ?? 0) } }

    public var activeRequests: Int { Int(self[#"roost_http_connections{state="active"}"#] ?? 0) }

    public var count: Int { values.count }
}

extension TestServer {
    public static func runMeasured(
        _ options: JSONObject? = nil, _ body: @escaping @Sendable (TestServer, Int) async throws -> Void
    ) async throws {
        let port = try await FreePort.find()
        var options = options ?? [:]
        var metrics = options["metrics"]?.objectValue ?? [:]
        metrics["port"] = .number(Double(port))
        options["metrics"] = .object(metrics)
        try await run(options) { server in try await body(server, port) }
    }

    public static func metrics(at port: Int) async throws -> MetricSamples {
        let answer = try await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send(
            "GET", "/metrics", as: .nobody)
        return MetricSamples(String(decoding: answer.bytes, as: UTF8.self))
    }
}
