import HTTPTypes

/// The header fields that Parse clients send and read.
extension HTTPField.Name {
    static let parseApplicationID = known("X-Parse-Application-Id")
    static let parseSessionToken = known("X-Parse-Session-Token")
    static let parseMasterKey = known("X-Parse-Master-Key")
    static let parseMaintenanceKey = known("X-Parse-Maintenance-Key")
    static let parseInstallationID = known("X-Parse-Installation-Id")
    static let parseClientKey = known("X-Parse-Client-Key")
    static let parseJavascriptKey = known("X-Parse-Javascript-Key")
    static let parseWindowsKey = known("X-Parse-Windows-Key")
    static let parseRESTAPIKey = known("X-Parse-REST-API-Key")
    static let parseClientVersion = known("X-Parse-Client-Version")
    static let parseCloudContext = known("X-Parse-Cloud-Context")
    static let parseRequestID = known("X-Parse-Request-Id")
    static let parseUploadMode = known("X-Parse-Upload-Mode")
    static let parseFileMaximumUploadSize = known("X-Parse-File-Max-Upload-Size")
    static let parseFileDirectory = known("X-Parse-File-Directory")
    static let parseFileMetadata = known("X-Parse-File-Metadata")
    static let parseFileTags = known("X-Parse-File-Tags")
    static let forwardedFor = known("X-Forwarded-For")
    static let forwardedProtocol = known("X-Forwarded-Proto")
    static let forwardedHost = known("X-Forwarded-Host")

    /// A name that is written in the source, and therefore valid.
    static func known(_ name: StaticString) -> HTTPField.Name {
        guard let result = HTTPField.Name("\(name)") else { preconditionFailure("\(name) is not a header name") }
        return result
    }
}
