/// A request that no client of good will sends, byte for byte.
struct MalformedRequest {
    var method: String
    var target: String
    var headers: [(name: String, value: [UInt8])]
    var body: [UInt8]

    /// What goes over the wire: well framed, so that an answer must come.
    var bytes: [UInt8] {
        var bytes = Array("\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n".utf8)
        for (name, value) in headers { bytes += Array("\(name): ".utf8) + value + Array("\r\n".utf8) }
        if !body.isEmpty || method != "GET" { bytes += Array("Content-Length: \(body.count)\r\n".utf8) }
        return bytes + Array("\r\n".utf8) + body
    }

    /// Whether the answer's errors need not be JSON.
    var isFile: Bool { target.lowercased().hasPrefix("/parse/files") }

    /// Whether the HTTP parser refuses it, before anybody knows that the answer should be JSON: methods that HTTP does
    /// not have, and lines longer than the server reads.
    var isRefusedByParser: Bool { ["get", "X-ODD"].contains(method) || target.utf8.count > 30_000 }

    /// What to print about a request that was answered wrongly.
    var description: String {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.count > 3000 ? "\(text.prefix(3000))… (\(bytes.count) bytes)" : text
    }
}
