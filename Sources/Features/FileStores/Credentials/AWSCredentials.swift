#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What requests are signed with.
package struct AWSCredentials: StoreCredentials {
    package var accessKeyId: String
    var secretAccessKey: String
    var sessionToken: String?
    /// When they end; nil for never.
    package var expiration: Date?

    package init(accessKeyId: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil) {
        self.accessKeyId = accessKeyId
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

/// Where credentials for Amazon's services come from.
package protocol AWSCredentialProvider: CredentialProvider where Credentials == AWSCredentials {}
