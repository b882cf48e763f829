import Encoding
import FileStorage
import HTTP
import Rules

/// The response to a file download, whole or in part.
struct FileDownload {
    let storage: any FileStorage
    let name: String
    let file: any StoredFile
    let headers: RequestHeaders

    /// Returns the file, a range of it, 304 if it is unchanged, or 416 for a range outside the file.
    ///
    /// - Throws: The error of the file store.
    func reply() async throws -> Reply {
        if isUnchanged { return Reply(status: 304, headers: validators, body: .empty) }
        let type = try await contentType()
        var fields = validators
        fields.append(("Content-Type", FileTypes.contentType(type.essence)))
        fields.append(("Accept-Ranges", "bytes"))
        fields.append(("X-Content-Type-Options", "nosniff"))
        // Prevents uploaded content from running scripts in the server's origin.
        fields.append(("Content-Security-Policy", "sandbox"))
        if !FileTypes.isShownInline(type) {
            fields.append(("Content-Disposition", "attachment; filename*=UTF-8''\(PercentEncoding.encode(givenName))"))
        }
        switch requestedRange {
        case .whole:
            return Reply(headers: fields, body: .stream(stream(0..<file.size)))
        case .part(let range):
            fields.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"))
            return Reply(status: 206, headers: fields, body: .stream(stream(range)))
        case .unsatisfiable:
            let headers = [("Content-Range", "bytes */\(file.size)"), ("X-Content-Type-Options", "nosniff")]
            return Reply(status: 416, headers: headers, body: .empty)
        }
    }

    private var validators: [(String, String)] {
        [("ETag", file.entityTag), ("Last-Modified", lastModified)]
    }

    private var lastModified: String {
        HTTPDate.string(seconds: file.modified.seconds)
    }

    private var isUnchanged: Bool {
        if let tags = headers[.ifNoneMatch] { return EntityTag.matches(tags, file.entityTag) }
        return headers[.ifModifiedSince] == lastModified
    }

    /// A range applies only if the client's partial copy is of this version.
    private var requestedRange: ByteRange {
        if let version = headers[.ifRange], !version.hasSameBytes(as: file.entityTag),
            !version.hasSameBytes(as: lastModified)
        {
            return .whole
        }
        return ByteRange(headers[.range], size: file.size)
    }

    private func contentType() async throws -> MediaType {
        if let known = FileTypes.type(ofFile: name) { return known }
        let details = if let known = file.details { known } else { try await storage.details(name: name) }
        return details.contentType.flatMap { MediaType($0) } ?? Self.unknownType
    }

    private static let unknownType = MediaType(known: "application/octet-stream")

    private var givenName: String {
        let last = name.split(separator: "/").last ?? ""
        let prefix = last.prefix(33)
        let isRandom = prefix.utf8.count == 33 && prefix.last == "_" && prefix.dropLast().allSatisfy(\.isHexDigit)
        return String(isRandom ? last.dropFirst(33) : last)
    }

    private func stream(_ range: Range<Int64>) -> Reply.ByteStream {
        let file = file
        var stream = Reply.ByteStream(length: range.count, isInMemory: file.isInMemory) { sink in
            guard !range.isEmpty else { return }
            try await file.give(range, to: sink)
        }
        stream.maxHeldBytes = file.maxHeldBytes
        return stream
    }
}
