import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import REST
internal import ServerConfiguration
internal import Telemetry

/// The start page: how to connect an app, and the apps that have connected.
extension ConsoleRouteTable {
    static let start: [ConsoleRoute] = [
        ConsoleRoute(.get, "start", .viewer) { StartCalls(call: $0).start() },
        ConsoleRoute(.get, "start/clients", .viewer) { StartCalls(call: $0).clients() },
    ]
}

extension Configuration {
    /// A header field with which requests can prove that they come from an app, or nil if no client key is set.
    var clientKeyField: String? {
        [
            ("X-Parse-REST-API-Key", restAPIKey), ("X-Parse-Client-Key", clientKey),
            ("X-Parse-Javascript-Key", javascriptKey), ("X-Parse-Windows-Key", dotNetKey),
        ].first { $0.1 != nil }?.0
    }
}

private struct StartCalls: ConsoleCalls {
    let call: ConsoleCall

    /// Returns the connection details, with code that reads the class and text field in the query (`class`, `field`)
    /// or `_User`. Only developers and owners see the client keys, and nobody sees the master key.
    func start() -> Reply {
        let configuration = interface.configuration
        let (url, reach) = address
        let showsKeys = role >= .developer
        var connection = AppConnection(
            url: url, appId: configuration.appId, clientKey: showsKeys ? configuration.clientKey : nil,
            javaScriptKey: showsKeys ? configuration.javascriptKey : nil,
            needsKey: configuration.clientKeyField != nil)
        if let name = texts["class"]?.stringValue, let schema = interface.backend.catalog.schema(name) {
            connection.className = name
            connection.field = texts["field"]?.stringValue.flatMap { schema.type(of: $0) == .string ? $0 : nil }
        }
        var answer: JSONObject = [
            "url": .string(url), "reach": .string(reach.rawValue), "host": .string(configuration.host),
            "appId": .string(configuration.appId), "needsKey": .bool(connection.needsKey),
            "snippets": .array(connection.snippets.map { ["name": .string($0.name), "text": .string($0.text)] }),
        ]
        answer["clientKey"] = connection.clientKey.map { .string($0) }
        answer["javascriptKey"] = connection.javaScriptKey.map { .string($0) }
        if reach == .network {
            answer["code"] = QRCode(url).map { code in
                .array(code.modules.map { row in .string(String(row.map { $0 ? "1" : "0" })) })
            }
        }
        return .object(answer)
    }

    func clients() -> Reply {
        let now = interface.backend.clock.now.milliseconds
        var answer: JSONObject = [
            "clients": .array(
                interface.backend.meters.clients.seen.map { kind, milliseconds in
                    [
                        "name": .string(kind.name),
                        "at": .string(ParseDate(milliseconds: milliseconds).iso),
                        "seconds": .number(Double(max(0, now - milliseconds) / 1000)),
                    ]
                })
        ]
        answer["failure"] = lastFailure(now: now).map { .object($0) }
        return .object(answer)
    }

    /// The latest request of an app, if it failed and is among the last 300 log lines. Requests with a server key, and
    /// those of the console itself, aren't an app's.
    private func lastFailure(now: Int64) -> JSONObject? {
        let log = interface.backend.log
        let (mount, console) = (interface.configuration.mount + "/", interface.configuration.console.path + "/")
        for line in log.lines(from: log.count - 300, onlyErrors: false).reversed() {
            let fields = line.json
            guard fields["message"] == "request", fields["power"] == nil, let path = fields["path"]?.stringValue,
                path.dropping(prefix: mount) != nil, path.dropping(prefix: console) == nil,
                let status = fields["status"]?.numberValue
            else { continue }
            guard status >= 400 else { return nil }
            let at = fields["timestamp"]?.stringValue.flatMap { ParseDate(iso: $0) }?.milliseconds ?? now
            return [
                "id": fields["id"] ?? "", "seconds": .number(Double(max(0, now - at) / 1000)),
                "error": .string(Self.reason(Int(status), fields)),
            ]
        }
        return nil
    }

    private static func reason(_ status: Int, _ fields: JSONObject) -> String {
        guard let code = fields["code"] else {
            // Keys are checked first, so a request rejected for them has no route.
            guard status == 403 else { return "status \(status)" }
            return fields["route"] == nil ? "wrong application id or key" : "permission denied"
        }
        return code == 119 ? "permission denied (error 119)" : "error \(code.text)"
    }

    private enum Reach: String {
        /// Other machines can reach the server at its URL, as far as the server knows.
        case network
        /// The option `host` limits the server to this machine.
        case thisMachine
        /// The server found no network address.
        case unknown
    }

    /// The URL under which apps can reach the server, and the machines from which they can.
    private var address: (url: String, reach: Reach) {
        let configuration = interface.configuration
        // publicServerURL, or the name under which the browser opened the console.
        let known = context.mountURL
        if !Configuration.Console.isOfThisMachine(known) { return (known, .network) }
        if Configuration.Console.isLoopback(configuration.host) { return (known, .thisMachine) }
        guard let address = NetworkInterfaces.address() else { return (known, .unknown) }
        let host = IPAddress(configuration.host).map { $0.bytes.allSatisfy { $0 == 0 } } ?? true
        return (
            "\(configuration.scheme)://\(host ? address : configuration.host):\(visit.port)\(configuration.mount)",
            .network
        )
    }
}
