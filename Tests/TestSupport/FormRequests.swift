/// A part of a `multipart/form-data` body.
public struct FormPart: Sendable {
    fileprivate let header: String
    fileprivate let content: [UInt8]

    public static func text(_ name: String, _ text: String) -> FormPart {
        FormPart(header: "Content-Disposition: form-data; name=\"\(name)\"", content: Array(text.utf8))
    }

    public static func file(_ name: String, _ filename: String, _ bytes: [UInt8], type: String? = nil) -> FormPart {
        let disposition = "Content-Disposition: form-data; name=\"\(name)\"; filename=\"\(filename)\""
        return FormPart(header: disposition + (type.map { "\r\nContent-Type: \($0)" } ?? ""), content: bytes)
    }
}

extension TestServer {
    public func sendForm(_ path: String, _ parts: [FormPart], as identity: Identity = .anonymous) async throws
        -> TestAnswer
    {
        var body: [UInt8] = []
        for part in parts {
            body += Array("--limit\r\n\(part.header)\r\n\r\n".utf8) + part.content + Array("\r\n".utf8)
        }
        body += Array("--limit--\r\n".utf8)
        return try await send(
            "POST", path, bytes: body, as: identity, headers: ["Content-Type": "multipart/form-data; boundary=limit"])
    }
}
