import Encoding
import FileStorage
import JSON
import Outgoing
import Platform
import Rules

/// Converts between file details and the header fields of an object.
///
/// S3 allows only lower-case names and 2 KB in total. Details that fit are separate fields, so that other tools can
/// read them; the rest is JSON in one more field.
enum S3Details {
    private static let prefix = "x-amz-meta-"
    private static let googlePrefix = "x-goog-meta-"
    /// The field for details that fit nowhere else.
    private static let rest = "roost-details"
    private static let maxBytes = 2048
    private static let maxTags = 10

    /// Returns the header fields of an upload: content type, disposition, metadata and tags.
    ///
    /// - Throws: ``FileStorageError/detailsNotKept(_:)`` if S3 can't store all of them.
    static func headers(_ details: FileDetails, name: String, storesTags: Bool) throws -> [(
        name: String, value: String
    )] {
        var headers = type(details, name: name)
        var others = FileDetails(contentType: details.contentType)
        var size = 0
        func add(_ name: String, _ value: String) {
            headers.append((prefix + name, value))
            size += name.utf8.count + value.utf8.count
        }
        for (name, value) in details.metadata {
            if case .string(let text) = value, isPlain(name.text), name.text != rest {
                add(name.text, encode(text))
            } else {
                others.metadata[name] = value
            }
        }
        if !details.tags.isEmpty {
            if storesTags {
                headers.append(("x-amz-tagging", try tagging(details.tags)))
            } else {
                others.tags = details.tags
            }
        }
        if !others.isEmpty {
            add(rest, AWSSignature.encode(String(decoding: others.serialized(), as: UTF8.self), keepingSlashes: false))
        }
        guard size <= maxBytes else {
            throw FileStorageError.detailsNotKept(
                "The file metadata has \(size) bytes; the store allows \(maxBytes).")
        }
        return headers
    }

    /// Returns the details in a response.
    ///
    /// - Parameters:
    ///   - name: The name or key of the object.
    ///   - tags: The tags, if they were fetched.
    static func details(_ answer: HTTPStream, name: String, tags: JSONObject = [:]) -> FileDetails {
        var details = FileDetails()
        for (field, value) in answer.headers {
            let field = field.asciiLowercased
            for prefix in [prefix, googlePrefix] where field.hasPrefix(prefix) && field != prefix + rest {
                details.metadata[Name(String(field.dropFirst(prefix.count)))] = .string(decode(value))
            }
        }
        let others = answer.header(prefix + rest) ?? answer.header(googlePrefix + rest)
        if let text = others.flatMap({ PercentEncoding.decode($0) }) {
            let others = FileDetails(parsing: Array(text.utf8))
            details.metadata.merge(others.metadata) { $1 }
            details.tags = others.tags
            details.contentType = others.contentType
        } else {
            // Another tool stored the object, or its details are all in separate fields. A known file extension
            // determines the type.
            details.contentType = answer.header("Content-Type").flatMap {
                FileTypes.type(ofFile: name) != nil || $0 == "application/octet-stream" ? nil : $0
            }
        }
        if !tags.isEmpty { details.tags = tags }
        return details
    }

    /// Parses the response to `?tagging`.
    static func tags(_ body: [UInt8]) -> JSONObject {
        var tags: JSONObject = [:]
        for tag in XMLText(body).elements("Tag") {
            if let key = tag["Key"] { tags[Name(key)] = .string(tag["Value"] ?? "") }
        }
        return tags
    }

    /// Returns the content type and disposition. Types that browsers can't show safely become downloads.
    private static func type(_ details: FileDetails, name: String) -> [(name: String, value: String)] {
        let last = name.split(separator: "/").last ?? ""
        let type = FileTypes.type(ofFile: name) ?? details.contentType.flatMap { MediaType($0) }
        if let type, FileTypes.isShownInline(type) { return [("Content-Type", FileTypes.contentType(type.essence))] }
        return [
            ("Content-Type", "application/octet-stream"),
            (
                "Content-Disposition",
                "attachment; filename*=UTF-8''\(AWSSignature.encode(String(last), keepingSlashes: false))"
            ),
        ]
    }

    private static func tagging(_ tags: JSONObject) throws -> String {
        let pairs = tags.compactMap { name, value in
            value.stringValue.map {
                "\(AWSSignature.encode(name.text, keepingSlashes: false))=\(AWSSignature.encode($0, keepingSlashes: false))"
            }
        }
        guard pairs.count == tags.count, pairs.count <= maxTags else {
            throw FileStorageError.detailsNotKept(
                "The file store allows at most \(maxTags) tags, whose values are strings.")
        }
        return pairs.joined(separator: "&")
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte.isASCIIDigit || byte == UInt8(ascii: "-") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            }
    }

    /// Encodes a header value as in email (RFC 2047) unless it is printable ASCII without outer or double blanks.
    private static func encode(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard !isPlain || text.hasPrefix("=?") || text.first == " " || text.last == " " || text.contains("  ") else {
            return text
        }
        return "=?UTF-8?B?\(Data(text.utf8).base64EncodedString())?="
    }

    private static func decode(_ value: String) -> String {
        let parts = value.split(separator: "?", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "=", parts[4] == "=", parts[1].lowercased() == "utf-8" else { return value }
        if parts[2].lowercased() == "b" {
            return Data(base64Encoded: String(parts[3])).map { String(decoding: $0, as: UTF8.self) } ?? value
        }
        let quoted = parts[3].replacing("_", with: " ").replacing("=", with: "%")
        return PercentEncoding.decode(quoted) ?? value
    }
}
