import Backend

/// Addresses of files, which are made anew from the name at each answer.
public struct FileLinks: Sendable {
    private let applicationID: String
    private let fileKey: String?

    /// Links for an application.
    ///
    /// - Parameters:
    ///   - applicationID: The id of the application.
    ///   - fileKey: The key of files that parse.com hosted; nil when there are none.
    public init(applicationID: String, fileKey: String? = nil) {
        self.applicationID = FileName.percentEncoded(applicationID)
        self.fileKey = fileKey
    }

    /// The address of a file.
    ///
    /// - Parameters:
    ///   - name: The name under which it is stored.
    ///   - mountURL: The address of the mount path.
    public func url(of name: String, mountURL: String) -> String {
        if let fileKey {
            let path = "\(fileKey)/\(FileName.percentEncoded(name))"
            if name.hasPrefix("tfss-") { return "http://files.parsetfss.com/\(path)" }
            if Self.beginsWithUUID(name) { return "http://files.parse.com/\(path)" }
        }
        return "\(mountURL)/files/\(applicationID)/\(FileName.urlPath(name))"
    }

    /// Whether a name has the form that parse.com gave to files in its first years: a UUID, a dash, and the name.
    private static func beginsWithUUID(_ name: String) -> Bool {
        let parts = name.split(separator: "-", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6 else { return false }
        return zip(parts, [8, 4, 4, 4, 12]).allSatisfy { part, length in
            part.utf8.count == length && part.allSatisfy(\.isHexDigit)
        }
    }
}
