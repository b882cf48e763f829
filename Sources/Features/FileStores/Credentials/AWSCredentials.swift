#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Credentials for signing AWS requests.
package struct AWSCredentials: StoreCredentials {
    package var accessKeyId: String
    var secretAccessKey: String
    var sessionToken: String?
    /// The time at which the credentials expire, or nil if they don't.
    package var expiration: Date?

    package init(accessKeyId: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil) {
        self.accessKeyId = accessKeyId
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

package protocol AWSCredentialProvider: CredentialProvider where Credentials == AWSCredentials {}
