/// The header fields that Roost looks up in requests, and some that it writes. Their names are case-insensitive.
package enum HeaderName: UInt8, CaseIterable, Sendable {
    case acceptLanguage
    case authorization, contentEncoding, contentLength, contentType, entityTag, expect, host, ifModifiedSince
    case ifNoneMatch, ifRange, origin, range, transferEncoding, forwardedFor, forwardedProtocol, forwardedHost
    case requestedWith, pageLocale, requestID, traceParent, traceState
    // Sent by Parse clients and, in calls of cloud code, by webhook servers.
    case parseApplicationID, parseSessionToken, parseMasterKey, parseMaintenanceKey, parseInstallationID
    case parseClientKey, parseJavascriptKey, parseWindowsKey, parseRESTAPIKey, parseClientVersion, parseCloudContext
    case parseRequestID, parseUploadMode, parseFileMaximumUploadSize, parseFileDirectory, parseFileMetadata
    case parseFileTags, parseCloudDepth

    /// The name as Roost writes it.
    package var text: String {
        switch self {
        case .acceptLanguage: "Accept-Language"
        case .authorization: "Authorization"
        case .contentEncoding: "Content-Encoding"
        case .contentLength: "Content-Length"
        case .contentType: "Content-Type"
        case .entityTag: "ETag"
        case .expect: "Expect"
        case .host: "Host"
        case .ifModifiedSince: "If-Modified-Since"
        case .ifNoneMatch: "If-None-Match"
        case .ifRange: "If-Range"
        case .origin: "Origin"
        case .range: "Range"
        case .transferEncoding: "Transfer-Encoding"
        case .forwardedFor: "X-Forwarded-For"
        case .forwardedProtocol: "X-Forwarded-Proto"
        case .forwardedHost: "X-Forwarded-Host"
        case .requestedWith: "X-Requested-With"
        case .pageLocale: "X-Parse-Page-Param-Locale"
        case .requestID: "X-Request-Id"
        case .traceParent: "traceparent"
        case .traceState: "tracestate"
        case .parseApplicationID: "X-Parse-Application-Id"
        case .parseSessionToken: "X-Parse-Session-Token"
        case .parseMasterKey: "X-Parse-Master-Key"
        case .parseMaintenanceKey: "X-Parse-Maintenance-Key"
        case .parseInstallationID: "X-Parse-Installation-Id"
        case .parseClientKey: "X-Parse-Client-Key"
        case .parseJavascriptKey: "X-Parse-Javascript-Key"
        case .parseWindowsKey: "X-Parse-Windows-Key"
        case .parseRESTAPIKey: "X-Parse-REST-API-Key"
        case .parseClientVersion: "X-Parse-Client-Version"
        case .parseCloudContext: "X-Parse-Cloud-Context"
        case .parseRequestID: "X-Parse-Request-Id"
        case .parseUploadMode: "X-Parse-Upload-Mode"
        case .parseFileMaximumUploadSize: "X-Parse-File-Max-Upload-Size"
        case .parseFileDirectory: "X-Parse-File-Directory"
        case .parseFileMetadata: "X-Parse-File-Metadata"
        case .parseFileTags: "X-Parse-File-Tags"
        case .parseCloudDepth: "X-Parse-Cloud-Depth"
        }
    }

    /// Finds the name of a request's header field. Returns nil if Roost doesn't use the field.
    package init?(field name: String) {
        let length = name.utf8.count
        guard length < Self.byLength.count, let found = Self.byLength[length].first(where: { $0.matches(name) }) else {
            return nil
        }
        self = found
    }

    /// Whether `other` is this name, ignoring case. Most clients write names in the same case as Roost.
    package func matches(_ other: String) -> Bool {
        let text = text
        guard text.utf8.count == other.utf8.count else { return false }
        return text == other || text.utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// Names by length. Few share one, so the length alone rules out most unknown names.
    private static let byLength: [[HeaderName]] = {
        var lists: [[HeaderName]] = []
        for name in allCases {
            let length = name.text.utf8.count
            while lists.count <= length { lists.append([]) }
            lists[length].append(name)
        }
        return lists
    }()
}
