import CloudCode
import Encoding
import JSON

/// Requests of the code, which its SDK makes.
enum RestRequest {
    /// Reads a request.
    ///
    /// - Parameter parent: The call that it belongs to, where that is still open.
    /// - Returns: The request; nil for what is none.
    static func read(_ message: JSONObject, parent: CloudCall?) -> InternalRequest? {
        guard let method = message["method"]?.stringValue, let path = message["path"]?.stringValue
        else { return nil }
        // What is encoded already stays as it is.
        let encoded = PercentEncoding.encode(path, keepingOnly: "!$&'()*+,-./:=@_~%?")
        var body = message["body"]?.objectValue ?? [:]
        // As the SDK does by HTTP: what would be a query string is in the body.
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

    /// What is carried on of the call. What code does after its call has ended stands as deep as the call did.
    private static func parent(_ sent: JSONValue?, _ open: CloudCall?) -> InternalRequest.Parent? {
        if let open { return InternalRequest.Parent(open) }
        guard let sent, let depth = sent["depth"]?.numberValue.flatMap({ Int(exactly: $0) }) else { return nil }
        var call = CloudCall(.function(""))
        call.depth = depth
        call.requestID = sent["requestId"]?.stringValue ?? ""
        return InternalRequest.Parent(call)
    }

    /// The number of the call that a request belongs to.
    static func parentNumber(_ message: JSONObject) -> Int? {
        message["parent"]?["id"]?.numberValue.flatMap { Int(exactly: $0) }
    }

    /// The message with the answer to a request; its body goes through as it is.
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
        return writer.take()
    }
}
