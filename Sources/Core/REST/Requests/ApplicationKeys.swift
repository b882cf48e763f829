import Crypto
import Encoding
public import HTTP
public import Rules
public import ServerConfiguration

/// The keys of the application, and from where each may be used.
public struct ApplicationKeys: Sendable {
    /// The id of the application that this server serves.
    public var applicationID: String
    /// The key that may do everything, or nil while an app's function gives none.
    var masterKey: String? { if let renewedMasterKey { renewedMasterKey.value } else { fixedMasterKey } }
    private let fixedMasterKey: String
    private let renewedMasterKey: RenewedKey?
    /// The key that may see everything; nil when there is none.
    public var readOnlyMasterKey: String?
    /// The key that may write internal fields; nil when there is none.
    public var maintenanceKey: String?
    /// The SHA-256 of keys that may do what the master key may, by who has them.
    public var adminKeys: [String: [UInt8]]
    /// The keys of client applications. When one of them is set, a client must bring one that matches.
    public var clientKey: String?
    public var javascriptKey: String?
    public var dotNetKey: String?
    public var restAPIKey: String?
    /// Addresses allowed the master key.
    public var masterKeyAddresses: AddressList
    /// Addresses allowed the read-only key.
    public var readOnlyMasterKeyAddresses: AddressList
    /// Addresses allowed the maintenance key.
    public var maintenanceKeyAddresses: AddressList

    /// - Throws: The first address that is none.
    public init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        applicationID = configuration.appId
        fixedMasterKey = configuration.masterKey
        renewedMasterKey = configuration.renewedMasterKey
        readOnlyMasterKey = configuration.readOnlyMasterKey
        maintenanceKey = configuration.maintenanceKey
        adminKeys = configuration.audit.adminKeys
        clientKey = configuration.clientKey
        javascriptKey = configuration.javascriptKey
        dotNetKey = configuration.dotNetKey
        restAPIKey = configuration.restAPIKey
        masterKeyAddresses = try AddressList(configuration.masterKeyIps)
        readOnlyMasterKeyAddresses = try AddressList(configuration.readOnlyMasterKeyIps)
        maintenanceKeyAddresses = try AddressList(configuration.maintenanceKeyIps)
    }

    func serves(_ applicationID: String?) -> Bool {
        self.applicationID.hasSameBytes(as: applicationID)
    }

    /// Whether no client key is required, or a valid one was sent.
    private func admitsClient(_ credentials: Credentials) -> Bool {
        if clientKey == nil, javascriptKey == nil, dotNetKey == nil, restAPIKey == nil { return true }
        return Self.matches(credentials.clientKey, clientKey)
            || Self.matches(credentials.javascriptKey, javascriptKey)
            || Self.matches(credentials.dotNetKey, dotNetKey)
            || Self.matches(credentials.restAPIKey, restAPIKey)
    }
}

extension ApplicationKeys {
    /// Decides what the keys of a request are worth. Keys are compared in constant time.
    ///
    /// - Parameters:
    ///   - credentials: The keys that the request brings.
    ///   - address: The client's IP address.
    /// - Returns: What the caller may be.
    /// - Throws: ``HTTPError/unauthorized`` when the application is not this one, when a right key comes from a wrong
    ///   address, or when client keys are demanded and none is right.
    public func power(of credentials: Credentials, address: String) throws(HTTPError) -> Caller.Power {
        guard serves(credentials.applicationID) else { throw .unauthorized }
        if Self.matches(credentials.maintenanceKey, maintenanceKey), maintenanceKeyAddresses.contains(address) {
            return .maintenance
        }
        if administrator(with: credentials.masterKey) != nil {
            guard masterKeyAddresses.contains(address) else { throw .unauthorized }
            return .master
        }
        if Self.matches(credentials.masterKey, readOnlyMasterKey) {
            guard readOnlyMasterKeyAddresses.contains(address) else { throw .unauthorized }
            return .readOnlyMaster
        }
        guard admitsClient(credentials) else { throw .unauthorized }
        return .client
    }

    static let masterKeyName = "masterKey"

    /// The name of the key that an audit entry is about, or nil for clients.
    func auditName(of envelope: Envelope) -> String? {
        envelope.power == .maintenance ? "maintenanceKey" : administrator(with: envelope.credentials.masterKey)
    }

    /// Who has a key that may do everything: `masterKey`, or the name of an administrator's key; nil for other keys.
    func administrator(with key: String?) -> String? {
        if Self.matches(key, masterKey) { return Self.masterKeyName }
        guard let key, !adminKeys.isEmpty else { return nil }
        let digest = SHA256.hash(data: Array(key.utf8))
        return adminKeys.first { digest == $0.value }?.key
    }

    /// Whether a key is the right one. An empty key never is.
    static func matches(_ given: String?, _ right: String?) -> Bool {
        guard let given, let right else { return false }
        return ConstantTime.areEqual(given, right)
    }
}
