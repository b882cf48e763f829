import CloudCode
import Encoding
import JSON
import Platform

/// Encodes calls as webhook requests, with parse-server's members.
struct WebhookRequest: Sendable {
    /// Whether to send members added in parse-server 9: the class of a query and `isReadOnly`.
    let sendsNewMembers: Bool

    func body(of call: CloudCall) -> [UInt8] {
        if let members = liveQueryMembers(of: call) { return JSONValue.object(members).serialized() }
        var body = members(of: call)
        body["master"] = .bool(call.caller.isMaster)
        if sendsNewMembers { body["isReadOnly"] = .bool(call.caller.isReadOnly) }
        if let user = call.caller.user { body["user"] = .object(user) }
        if let id = call.caller.installationId { body["installationId"] = .string(id) }
        body["headers"] = .object(call.headers)
        body["ip"] = .string(call.ip)
        return JSONValue.object(body).serialized()
    }

    /// Returns the members of a live-query call, or nil for other calls. Omits `headers` and `ip`, like parse-server.
    private func liveQueryMembers(of call: CloudCall) -> JSONObject? {
        guard case .trigger(let event, _) = call.target,
            [.beforeConnect, .beforeSubscribe, .afterEvent].contains(event)
        else { return nil }
        var body = call.params
        if var query = call.query {
            if query["className"] == nil { query["className"] = .string(call.target.name.text) }
            body["query"] = .object(query)
        }
        if let object = call.object { body["object"] = .object(object) }
        if let original = call.original { body["original"] = .object(original) }
        if let user = call.caller.user { body["user"] = .object(user) }
        return body
    }

    private func members(of call: CloudCall) -> JSONObject {
        guard case .trigger(let event, let className) = call.target else {
            return [
                "functionName": .string(call.target.name.text), "params": .object(call.params),
                "context": .object(call.context),
            ]
        }
        var body: JSONObject = ["triggerName": .string(event.rawValue)]
        if let file = call.file {
            var json: JSONObject = ["__type": "File", "name": .string(file.name)]
            json["url"] = file.url.map(JSONValue.string)
            body["file"] = .object(json)
            body["fileSize"] = file.size.map { .number(Double($0)) } ?? .null
            return body
        }
        if event != .afterLogout { body["context"] = .object(call.context) }
        switch event {
        case .beforeFind, .afterFind:
            body["query"] = .object(call.query ?? [:])
            if sendsNewMembers { body["className"] = .string(className.text) }
            if event == .beforeFind {
                body["count"] = .bool(call.isCount)
                body["isGet"] = .bool(call.isGet)
            } else {
                body["object"] = .null
                body["objects"] = .array(call.objects.map { .object($0) })
            }
        default:
            body["object"] = call.object.map { .object($0) } ?? .null
            if let original = call.original { body["original"] = .object(original) }
        }
        return body
    }
}

extension CloudTarget {
    /// The name of a function or job, or the class of a trigger.
    var name: Name {
        switch self {
        case .function(let name), .job(let name), .trigger(_, let name): name
        }
    }
}

/// The parsed URL of a webhook.
struct WebhookAddress {
    /// The URL without its user information and fragment.
    let url: String
    let host: String
    /// The `Authorization` header for the user information in the URL, or nil if it has none.
    let authorization: String?

    /// Parses a URL. Throws `CloudFailure` if it can't be called.
    init(_ url: String) throws(CloudFailure) {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https", url.dropFirst(scheme.count).hasPrefix("://") else {
            throw CloudFailure("The webhook's URL must begin with http:// or https://.")
        }
        let rest = url.dropFirst(scheme.count + "://".count)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        var host = rest[..<end]
        var authorization: String?
        if let at = host.lastIndex(of: "@") {
            let user = PercentEncoding.decode(host[..<at]) ?? String(host[..<at])
            authorization = "Basic " + Data((user.contains(":") ? user : user + ":").utf8).base64EncodedString()
            host = host[host.index(after: at)...]
        }
        guard !host.isEmpty else { throw CloudFailure("The webhook's URL has no host.") }
        self.url = "\(scheme)://\(host)\(rest[end...].prefix { $0 != "#" })"
        self.host = host.lowercased()
        self.authorization = authorization
    }
}
