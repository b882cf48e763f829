/// The name of a header field, which is the same whatever the case of its letters.
struct HeaderName: Sendable {
    /// The name as Roost writes it.
    let text: String

    init(_ text: StaticString) {
        self.text = text.description
    }

    /// Whether `other` is this name. Most clients write names as Roost does.
    func matches(_ other: String) -> Bool {
        guard text.utf8.count == other.utf8.count else { return false }
        return text == other || text.utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

/// The header fields of HTTP that Roost reads.
extension HeaderName {
    static let authorization = HeaderName("Authorization")
    static let contentEncoding = HeaderName("Content-Encoding")
    static let contentLength = HeaderName("Content-Length")
    static let contentType = HeaderName("Content-Type")
    static let entityTag = HeaderName("ETag")
    static let expect = HeaderName("Expect")
    static let host = HeaderName("Host")
    static let ifModifiedSince = HeaderName("If-Modified-Since")
    static let ifNoneMatch = HeaderName("If-None-Match")
    static let ifRange = HeaderName("If-Range")
    static let origin = HeaderName("Origin")
    static let range = HeaderName("Range")
    static let transferEncoding = HeaderName("Transfer-Encoding")
    static let forwardedFor = HeaderName("X-Forwarded-For")
    static let forwardedProtocol = HeaderName("X-Forwarded-Proto")
    static let forwardedHost = HeaderName("X-Forwarded-Host")
}

/// The header fields that Parse clients send.
extension HeaderName {
    static let parseApplicationID = HeaderName("X-Parse-Application-Id")
    static let parseSessionToken = HeaderName("X-Parse-Session-Token")
    static let parseMasterKey = HeaderName("X-Parse-Master-Key")
    static let parseMaintenanceKey = HeaderName("X-Parse-Maintenance-Key")
    static let parseInstallationID = HeaderName("X-Parse-Installation-Id")
    static let parseClientKey = HeaderName("X-Parse-Client-Key")
    static let parseJavascriptKey = HeaderName("X-Parse-Javascript-Key")
    static let parseWindowsKey = HeaderName("X-Parse-Windows-Key")
    static let parseRESTAPIKey = HeaderName("X-Parse-REST-API-Key")
    static let parseClientVersion = HeaderName("X-Parse-Client-Version")
    static let parseCloudContext = HeaderName("X-Parse-Cloud-Context")
    static let parseRequestID = HeaderName("X-Parse-Request-Id")
    static let parseUploadMode = HeaderName("X-Parse-Upload-Mode")
    static let parseFileMaximumUploadSize = HeaderName("X-Parse-File-Max-Upload-Size")
    static let parseFileDirectory = HeaderName("X-Parse-File-Directory")
    static let parseFileMetadata = HeaderName("X-Parse-File-Metadata")
    static let parseFileTags = HeaderName("X-Parse-File-Tags")
}
