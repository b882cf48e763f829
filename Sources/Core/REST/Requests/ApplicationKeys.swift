import Crypto
import Encoding
public import HTTP
public import Rules
public import ServerConfiguration

/// The application's keys and the addresses allowed to use them.
public struct ApplicationKeys: Sendable {
    public var applicationID: String
    /// The master key, or nil while the app's `masterKey` function fails.
    var masterKey: String? { if let renewedMasterKey { renewedMasterKey.value } else { fixedMasterKey } }
    private let fixedMasterKey: String
    private let renewedMasterKey: RenewedKey?
    /// The key that allows reading everything, or nil if not configured.
    public var readOnlyMasterKey: String?
    /// The key that allows writing internal fields, or nil if not configured.
    public var maintenanceKey: String?
    /// SHA-256 hashes of keys with the rights of the master key, by administrator name.
    public var adminKeys: [String: [UInt8]]
    /// The client key. If any of the client, JavaScript, .NET and REST API keys is set, clients must send a matching
    /// one.
    public var clientKey: String?
    public var javascriptKey: String?
    public var dotNetKey: String?
    public var restAPIKey: String?
    /// Addresses allowed to use the master key and the administrators' keys.
    public var masterKeyAddresses: AddressList
    /// Addresses allowed to use the read-only master key.
    public var readOnlyMasterKeyAddresses: AddressList
    /// Addresses allowed to use the maintenance key.
    public var maintenanceKeyAddresses: AddressList

    /// - Throws: The first invalid address in the configuration.
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

    private func admitsClient(_ credentials: Credentials) -> Bool {
        if clientKey == nil, javascriptKey == nil, dotNetKey == nil, restAPIKey == nil { return true }
        return Self.matches(credentials.clientKey, clientKey)
            || Self.matches(credentials.javascriptKey, javascriptKey)
            || Self.matches(credentials.dotNetKey, dotNetKey)
            || Self.matches(credentials.restAPIKey, restAPIKey)
    }
}

extension ApplicationKeys {
    /// Returns the rights that a request's keys grant. Compares keys in constant time.
    ///
    /// - Parameter address: The client's IP address.
    /// - Throws: ``HTTPError/unauthorized`` for another application, for a valid master or read-only master key from an
    ///   address that isn't allowed, or for a missing or wrong client key.
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

    /// Returns the key name for an audit entry: `masterKey`, `maintenanceKey` or an administrator's name. Returns nil
    /// for callers with other rights.
    func auditName(of envelope: Envelope) -> String? {
        envelope.power == .maintenance ? "maintenanceKey" : administrator(with: envelope.credentials.masterKey)
    }

    /// Returns the owner of a key with full rights: `masterKey` or an administrator's name. Returns nil for other keys.
    func administrator(with key: String?) -> String? {
        if Self.matches(key, masterKey) { return Self.masterKeyName }
        guard let key, !adminKeys.isEmpty else { return nil }
        let digest = SHA256.hash(data: Array(key.utf8))
        return adminKeys.first { digest == $0.value }?.key
    }

    /// Compares a key in constant time. A missing or empty key never matches.
    static func matches(_ given: String?, _ right: String?) -> Bool {
        guard let given, let right else { return false }
        return ConstantTime.areEqual(given, right)
    }
}
