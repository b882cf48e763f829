struct MalformedRequest {
    var method: String
    var target: String
    var headers: [(name: String, value: [UInt8])]
    var body: [UInt8]

    /// The request on the wire. Its framing is valid, so the server must respond.
    var bytes: [UInt8] {
        var bytes = Array("\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n".utf8)
        for (name, value) in headers { bytes += Array("\(name): ".utf8) + value + Array("\r\n".utf8) }
        if !body.isEmpty || method != "GET" { bytes += Array("Content-Length: \(body.count)\r\n".utf8) }
        return bytes + Array("\r\n".utf8) + body
    }

    /// Whether error responses may be other than JSON.
    var isFile: Bool { target.lowercased().hasPrefix("/parse/files") }

    /// Whether the HTTP parser rejects the request, before the route determines the response format: unknown methods
    /// and oversized lines.
    var isRefusedByParser: Bool { ["get", "X-ODD"].contains(method) || target.utf8.count > 30_000 }

    var description: String {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.count > 3000 ? "\(text.prefix(3000))… (\(bytes.count) bytes)" : text
    }
}
