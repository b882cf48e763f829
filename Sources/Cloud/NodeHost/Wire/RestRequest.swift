import CloudCode
import Encoding
import JSON

/// Requests to the server by the SDK in cloud code.
enum RestRequest {
    /// Parses a request. Returns nil if it is invalid.
    ///
    /// - Parameter parent: The call that sends the request, if it is still open.
    static func read(_ message: JSONObject, parent: CloudCall?) -> InternalRequest? {
        guard let method = message["method"]?.stringValue, let path = message["path"]?.stringValue
        else { return nil }
        // Already encoded characters stay unchanged.
        let encoded = PercentEncoding.encode(path, keepingOnly: "!$&'()*+,-./:=@_~%?")
        var body = message["body"]?.objectValue ?? [:]
        // As in the SDK's HTTP requests, the query parameters are in the body.
        if method != "POST" { body["_method"] = .string(method) }
        var request = InternalRequest("POST", encoded, body: body)
        if message["master"] == .bool(true) {
            request.authority = .master
        } else {
            request.authority = message["sessionToken"]?.stringValue.map { .session($0) } ?? .anonymous
        }
        request.installationId = message["installationId"]?.stringValue
        request.context = message["context"]?.objectValue
        request.parent = self.parent(message["parent"], parent)
        return request
    }

    /// Returns the properties that a request inherits from its call, or nil if it isn't sent by a call. Requests sent
    /// after the end of the call keep its nesting depth and request id.
    private static func parent(_ sent: JSONValue?, _ open: CloudCall?) -> InternalRequest.Parent? {
        if let open { return InternalRequest.Parent(open) }
        guard let sent, let depth = sent["depth"]?.numberValue.flatMap({ Int(exactly: $0) }) else { return nil }
        var call = CloudCall(.function(""))
        call.depth = depth
        call.requestID = sent["requestId"]?.stringValue ?? ""
        return InternalRequest.Parent(call)
    }

    /// Returns the number of the call that sends a request, or nil if no call sends it.
    static func parentNumber(_ message: JSONObject) -> Int? {
        message["parent"]?["id"]?.numberValue.flatMap { Int(exactly: $0) }
    }

    /// Writes the response to a request. The body is copied unchanged, and an empty one becomes null.
    static func answer(_ id: Int, _ reply: InternalReply) -> [UInt8] {
        var headers: JSONObject = [:]
        for header in reply.headers { headers[Name(header.name)] = .string(header.value) }
        var writer = JSONWriter(capacity: reply.body.count + 256)
        writer.raw(#"{"type":"answer","id":"#)
        writer.integer(id)
        writer.raw(#","status":"#)
        writer.integer(reply.status)
        writer.raw(#","headers":"#)
        writer.object(headers)
        writer.raw(#","body":"#)
        if reply.body.isEmpty { writer.null() } else { writer.raw(reply.body) }
        writer.raw("}")
        return writer.finish()
    }
}
