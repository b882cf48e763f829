import Encoding
import JSON
import ParseModel
import ServerConfiguration

/// Validates the names and types of uploaded files.
package struct FileNaming {
    /// The name, with an extension added if it had none and the type (by default `text/plain`) implies one.
    package let name: String
    /// The client's type to store with the file, or nil if the name's extension implies one or the client sent none.
    package let typeToKeep: String?

    private static let maximumLength = 128
    private static let defaultType = MediaType(known: "text/plain")
    private static let formType = MediaType(known: "application/x-www-form-urlencoded")

    /// Validates a name and a type.
    ///
    /// - Parameters:
    ///   - name: The file name sent by the client.
    ///   - contentType: The type sent by the client. The type of HTML forms is never stored, because some HTTP clients
    ///     add it by themselves.
    ///   - allowedExtensions: Regular expressions for allowed extensions, or nil to allow all.
    /// - Throws: `ParseError` 122 if the name is invalid, or 130 if the type is invalid or the extension isn't allowed.
    package init(name: String, contentType: String?, allowedExtensions: [String]?) throws {
        try Self.check(name: name)
        let given = try contentType.map(Self.mediaType)
        let type = given == Self.formType ? nil : given ?? Self.defaultType
        let known = FileTypes.type(ofFile: name)
        if let allowedExtensions {
            let judged = Self.judgedExtensions(name: name, isKnown: known != nil, given: given)
            for fileExtension in judged {
                guard Self.isAllowed(fileExtension, by: allowedExtensions) else {
                    throw ParseError(
                        ParseError.fileSaveError, "File upload of extension \(fileExtension) is disabled.")
                }
            }
        }
        if !name.utf8.contains(UInt8(ascii: ".")), let type, let fileExtension = FileTypes.fileExtension(for: type) {
            self.name = name + "." + fileExtension
            typeToKeep = nil
        } else {
            self.name = name
            typeToKeep = known == nil ? given.flatMap { $0 == Self.formType ? nil : $0.essence } : nil
        }
    }

    /// Validates the folder requested for a file.
    ///
    /// - Throws: `ParseError` 119 without the master key, 122 if the folder is invalid.
    package static func directory(_ value: JSONValue, isMaster: Bool) throws -> String {
        guard isMaster else {
            throw ParseError(
                ParseError.operationForbidden, "Directory can only be set using the Master Key.")
        }
        guard case .string(let directory) = value, !directory.isEmpty else {
            throw ParseError(ParseError.invalidFileName, "Directory must be a non-empty string.")
        }
        guard directory.utf8.count <= 256 else { throw ParseError(ParseError.invalidFileName, "Directory too long.") }
        let components = directory.split(separator: "/", omittingEmptySubsequences: false)
        guard components.first != "metadata", components.allSatisfy(isFolderName) else {
            throw ParseError(ParseError.invalidFileName, "Directory contains invalid characters.")
        }
        return directory
    }

    /// Whether a name can result from a client's upload. Clients can write any name into a file field, so other names
    /// must not get signed URLs.
    ///
    /// - Parameter isPreserved: Whether uploads keep the clients' file names (`preserveFileName`).
    package static func isOfUpload(_ name: String, isPreserved: Bool) -> Bool {
        // Only the master key can choose folders, so random digits are also sufficient proof inside folders.
        if isPreserved, (try? check(name: name)) != nil { return true }
        let steps = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let last = steps.last, steps.allSatisfy({ !$0.isEmpty && !$0.elementsEqual("..".utf8) }) else {
            return false
        }
        let hosted = last.starts(with: "tfss-".utf8) ? last.dropFirst(5) : last
        return begins(last, with: [32], UInt8(ascii: "_")) || begins(hosted, with: [8, 4, 4, 4, 12], UInt8(ascii: "-"))
    }

    /// parse-server and hosted Parse prefix names with random digits.
    private static func begins(_ name: Substring.UTF8View, with counts: [Int], _ mark: UInt8) -> Bool {
        var rest = name
        for count in counts {
            guard rest.count > count, rest.prefix(count).allSatisfy({ $0.hexadecimalDigit != nil }) else {
                return false
            }
            rest = rest.dropFirst(count)
            guard rest.first == mark else { return false }
            rest = rest.dropFirst()
        }
        return !rest.isEmpty
    }

    private static func isFolderName(_ name: Substring) -> Bool {
        guard let first = name.utf8.first, first.isASCIIAlphanumeric else { return false }
        return name.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    private static func check(name: String) throws(ParseError) {
        guard name.unicodeScalars.count <= maximumLength else {
            throw ParseError(ParseError.invalidFileName, "Filename too long.")
        }
        guard let first = name.utf8.first, first.isASCIIAlphanumeric || first == UInt8(ascii: "_"),
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || nameMarks.contains($0) })
        else { throw ParseError(ParseError.invalidFileName, "Filename contains invalid characters.") }
    }

    private static let nameMarks = Array("@. ~_-".utf8)

    private static func mediaType(_ text: String) throws(ParseError) -> MediaType {
        guard let type = MediaType(text) else {
            throw ParseError(ParseError.fileSaveError, "Invalid Content-Type.")
        }
        return type
    }

    private static func judgedExtensions(name: String, isKnown: Bool, given: MediaType?) -> [String] {
        var trimmed = Substring(name)
        while let last = trimmed.last, last == "." || last == " " { trimmed.removeLast() }
        let fileExtension = trimmed.lastIndex(of: ".").map { trimmed[trimmed.index(after: $0)...] }
        var judged: [String] = []
        if let fileExtension { judged.append(fileExtension.filter { $0 != " " }) }
        if let given, fileExtension == nil || !isKnown && given != formType { judged.append(String(given.subtype)) }
        return judged.filter { !$0.isEmpty }
    }

    private static func isAllowed(_ fileExtension: String, by patterns: [String]) -> Bool {
        patterns.contains { $0 == "*" || RegularExpression($0)?.isFound(in: fileExtension) == true }
    }
}
