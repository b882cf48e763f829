import Foundation

/// What requests are signed with.
struct AWSCredentials: StoreCredentials {
    var accessKeyId: String
    var secretAccessKey: String
    var sessionToken: String?
    /// When they end; nil for never.
    var expiration: Date?
}

/// Where credentials for Amazon's services come from.
protocol AWSCredentialProvider: CredentialProvider where Credentials == AWSCredentials {}
